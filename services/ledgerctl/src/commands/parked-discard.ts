import { discardParked, findParked } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import type { Output } from '../output.ts'
import { shardsAskedFor } from './parked.ts'

export interface DiscardOptions {
  readonly ids: readonly bigint[]
  readonly shard: number
  readonly by: string
  readonly reasonText: string
  readonly yes: boolean
}

/** Says for good that messages need no verdict. Their bytes and rows stay, with who said so, when and why. */
export async function discardParkedCommand(ledger: Ledger, output: Output, options: DiscardOptions): Promise<void> {
  const { ids, shard, by, reasonText, yes } = options
  if (reasonText.trim() === '') throw new CommandFailed(EXIT.usage, 'a discarded message needs a reason: give --reason-text')
  const [asked] = await shardsAskedFor(ledger, shard)
  if (asked === undefined) return
  for (const id of ids) {
    const message = await findParked(asked.database, id)
    if (message === null) throw new CommandFailed(EXIT.finding, `shard ${shard} has no parked message ${id}`)
    if (message.state !== 'PARKED') throw new CommandFailed(EXIT.finding, `message ${id} is ${message.state} and cannot be discarded`)
  }
  if (!yes) return output.result({ would_discard: ids }, () => [`${ids.length} would be discarded. Say --yes to do it`])
  const discarded: bigint[] = []
  for (const id of ids) {
    const action = { id, from: 'PARKED', actor: by, reason: reasonText, nowUs: BigInt(Date.now()) * 1000n } as const
    if (await discardParked(asked.database, action)) discarded.push(id)
  }
  const missed = ids.length - discarded.length
  output.result({ discarded }, () => [
    `${discarded.length} discarded${missed > 0 ? `, ${missed} were changed by somebody else meanwhile` : ''}`,
  ])
}
