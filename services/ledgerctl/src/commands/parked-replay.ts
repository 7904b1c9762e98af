import { CommandLogError, type CommandProducer, createCommandProducer, type HeaderValue } from '@onceledger/command-log'
import { type ContractRegistry, decodeRecord, type SourceRecord } from '@onceledger/core'
import {
  ATTEMPTS_HEADER,
  countParkedBy,
  findParked,
  listParked,
  markReplayed,
  type ParkedFilter,
  type ParkedMessage,
  type ShardDatabase,
} from '@onceledger/ledger-store'
import { bucketOfKey } from '@onceledger/shard-map'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, toTable } from '../output.ts'
import { type NumberedShard, shardsAskedFor } from './parked.ts'

export interface ReplayOptions extends Omit<ParkedFilter, 'state'> {
  readonly shard?: number
  readonly by: string
  readonly reasonText: string
  /** Also what was replayed already; what was discarded never. */
  readonly again: boolean
  readonly yes: boolean
}

const ID_HEADER = 'onceledger-parked-id'

interface Replayed {
  readonly shard: number
  readonly id: bigint
  readonly reason: string
  readonly partition: number
  readonly offset: bigint | null
}

/**
 * Appends parked messages to the command topic again, with their own bytes: they are judged like any other, and what had its effect meanwhile has no second
 * one. A row is marked after its message was acknowledged; after a crash between the two it may be replayed once more.
 */
export async function replayParkedCommand(ledger: Ledger, output: Output, options: ReplayOptions): Promise<void> {
  const chosen = await choose(ledger, options)
  if (!options.yes) return tell(output, chosen, options)
  const { topic, bucketCount } = await ledger.foundation()
  const producer = createCommandProducer({ brokers: ledger.config.kafkaBrokers, clientId: 'ledgerctl' })
  const replayed: Replayed[] = []
  try {
    for (const { shard, database, message } of chosen.messages) {
      const place = await append(producer, topic, placeOf(message.record, ledger.registry, bucketCount), message, replayed.length)
      const nowUs = BigInt(Date.now()) * 1000n
      const action = { id: message.id, from: message.state, actor: options.by, reason: options.reasonText, nowUs }
      await markReplayed(database, action, { topic, ...place })
      replayed.push({ shard, id: message.id, reason: message.reason, ...place })
    }
  } finally {
    await producer.close()
  }
  output.result({ replayed, left: chosen.left }, () => [
    ...replayed.map(({ shard, id, partition, offset }) => `shard ${shard} message ${id} -> ${topic} partition ${partition}${at(offset)}`),
    `${replayed.length} replayed${chosen.left > 0 ? `, ${chosen.left} more are left` : ''}; their verdicts are in the results, and in: ledgerctl parked list`,
  ])
}

function at(offset: bigint | null): string {
  return offset === null ? '' : ` offset ${offset}`
}

interface Chosen {
  readonly messages: readonly { readonly shard: number; readonly database: ShardDatabase; readonly message: ParkedMessage }[]
  readonly left: number
}

/** @throws CommandFailed where an id is unknown, or in a state that is not to be replayed. */
async function choose(ledger: Ledger, options: ReplayOptions): Promise<Chosen> {
  const wanted = await shardsAskedFor(ledger, options.shard)
  if (options.ids !== undefined) return { messages: await byId(wanted, options), left: 0 }
  const messages: Chosen['messages'][number][] = []
  let matching = 0
  for (const { no, database } of wanted) {
    const filter = { ...options, state: 'PARKED' } as const
    matching += await countParkedBy(database, filter)
    for (const { id } of await listParked(database, { ...filter, limit: Math.max(0, options.limit - messages.length) })) {
      const message = await findParked(database, id)
      if (message !== null) messages.push({ shard: no, database, message })
    }
    if (messages.length >= options.limit) break
  }
  return { messages, left: Math.max(0, matching - messages.length) }
}

async function byId(shards: readonly NumberedShard[], { ids = [], again }: ReplayOptions): Promise<Chosen['messages']> {
  const [asked] = shards
  if (asked === undefined || shards.length > 1) throw new CommandFailed(EXIT.usage, 'an id belongs to a shard: give --shard too')
  const messages: Chosen['messages'][number][] = []
  for (const id of ids) {
    const message = await findParked(asked.database, id)
    if (message === null) throw new CommandFailed(EXIT.finding, `shard ${asked.no} has no parked message ${id}`)
    if (message.state !== 'PARKED' && !(again && message.state === 'REPLAYED'))
      throw new CommandFailed(
        EXIT.finding,
        `message ${id} is ${message.state}${message.state === 'REPLAYED' ? '; --again replays it once more, which has no second effect' : ''}`,
      )
    messages.push({ shard: asked.no, database: asked.database, message })
  }
  return messages
}

function tell(output: Output, { messages, left }: Chosen, options: ReplayOptions): void {
  const rows = messages.map(({ shard, message: { id, reason, partition, offset } }) => ({ shard, id, reason, partition, offset }))
  output.result({ would_replay: rows, left }, () => [
    ...toTable([
      ['shard', 'id', 'reason', 'position'],
      ...rows.map(({ shard, id, reason, partition, offset }) => [String(shard), String(id), reason, `${partition}@${offset}`]),
    ]),
    `${rows.length} would be replayed${left > 0 ? ` of ${rows.length + left}; --limit is ${options.limit}` : ''}. Say --yes to do it`,
  ])
}

/** Where the message belongs by its own key: one that came in a wrong partition finds the right one. One that names no key goes where it was. */
function placeOf(record: SourceRecord, registry: ContractRegistry, bucketCount: number): number {
  let own = record.position.partition
  decodeRecord(record, {
    registry,
    bucketOf(routingKey) {
      own = bucketOfKey(routingKey, bucketCount)
      return own
    },
  })
  return own
}

async function append(
  producer: CommandProducer,
  topic: string,
  partition: number,
  { id, attempts, record }: ParkedMessage,
  done: number,
): Promise<{ readonly partition: number; readonly offset: bigint | null }> {
  try {
    const headers = { ...headersOf(record), [ID_HEADER]: id.toString(), [ATTEMPTS_HEADER]: attempts.toString() }
    const [range] = await producer.send(topic, [{ key: record.key, value: record.value, headers, partition }])
    return { partition, offset: range?.baseOffset ?? null }
  } catch (error) {
    if (!(error instanceof CommandLogError)) throw error
    throw new CommandFailed(
      EXIT.unreachable,
      `${error.message}; ${done} messages were replayed before, and perhaps message ${id}, which stays PARKED: replaying it again has no second effect`,
    )
  }
}

/** Of an earlier replay only the last headers count. */
function headersOf({ headers }: SourceRecord): Record<string, HeaderValue[]> {
  const byName: Record<string, HeaderValue[]> = {}
  for (const [name, value] of headers) {
    if (name === ID_HEADER || name === ATTEMPTS_HEADER) continue
    byName[name] = [...(byName[name] ?? []), value]
  }
  return byName
}
