import { findParked, type ParkedAction, type ParkedMessage } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs } from '../output.ts'
import { shardsAskedFor } from './parked.ts'

/** One parked message: where it stood, why it is here, its bytes, and what was done with it. */
export async function showParkedCommand(ledger: Ledger, output: Output, { id, shard }: { id: bigint; shard: number }): Promise<void> {
  const [asked] = await shardsAskedFor(ledger, shard)
  const found = asked === undefined ? null : await findParked(asked.database, id)
  if (found === null) throw new CommandFailed(EXIT.finding, `shard ${shard} has no parked message ${id}`)
  const { record, key, ...view } = found
  const bytes = {
    key: textOf(key),
    value: textOf(record.value),
    headers: record.headers.map(([name, value]) => ({ name, ...textOf(Buffer.from(value)) })),
    record_time: timeOfUs(record.timestampMs * 1000n),
  }
  output.result({ shard, ...view, ...bytes }, () => linesOf(shard, found))
}

interface Bytes {
  readonly text: string | null
  readonly base64: string | null
}

/** Text only where it is exactly the bytes; base64 always. */
function textOf(bytes: Uint8Array | null): Bytes {
  if (bytes === null) return { text: null, base64: null }
  const buffer = Buffer.from(bytes)
  const text = buffer.toString('utf8')
  return { text: Buffer.from(text, 'utf8').equals(buffer) ? text : null, base64: buffer.toString('base64') }
}

function linesOf(shard: number, { record, key, ...view }: ParkedMessage): string[] {
  return [
    `parked message ${view.id} of shard ${shard}: ${view.state}`,
    `from      ${view.topic} partition ${view.partition} offset ${view.offset}, sent ${timeOfUs(record.timestampMs * 1000n)}`,
    `reason    ${view.reason}${view.retryable ? ' (may end by itself)' : ''}, judged ${view.attempts} ${view.attempts === 1 ? 'time' : 'times'}`,
    `detail    ${view.detail}`,
    `parked    ${timeOfUs(view.parkedAtUs)}${view.retryAtUs === null ? '' : `, worth another try from ${timeOfUs(view.retryAtUs)}`}`,
    `tenant    ${view.tenantId ?? 'unknown'}`,
    `key       ${printed(key)}`,
    ...record.headers.map(([name, value]) => `header    ${name}: ${printed(value)}`),
    `value     ${printed(record.value)}`,
    ...(view.actions.length === 0 ? ['nothing was done with it yet'] : view.actions.map(actionLine)),
  ]
}

function printed(bytes: Uint8Array | null): string {
  const { text, base64 } = textOf(bytes)
  if (base64 === null) return '(none)'
  return text ?? `(base64) ${base64}`
}

function actionLine({ action, actor, reason, topic, partition, offset, doneAtUs }: ParkedAction): string {
  const where = topic === null ? '' : ` to ${topic} partition ${partition}${offset === null ? '' : ` offset ${offset}`}`
  return `${timeOfUs(doneAtUs)}  ${action} by ${actor}${where}${reason === '' ? '' : `: ${reason}`}`
}
