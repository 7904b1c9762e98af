import { groupParked, listParked, type ParkedFilter, type ParkedView, type ShardDatabase } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs, toTable } from '../output.ts'

export interface ParkedOptions extends ParkedFilter {
  readonly shard?: number
}

export interface NumberedShard {
  readonly no: number
  readonly database: ShardDatabase
}

/** All shards, or the one that is asked for. @throws CommandFailed where there is none of that number. */
export async function shardsAskedFor(ledger: Ledger, shard: number | undefined): Promise<NumberedShard[]> {
  const shards = await ledger.shards()
  const wanted = shards.map((database, no) => ({ database, no })).filter(({ no }) => shard === undefined || no === shard)
  if (wanted.length === 0) throw new CommandFailed(EXIT.usage, `there is no shard ${shard}; there are ${shards.length}, counted from 0`)
  return wanted
}

/** Messages that could not be judged, of all shards or of one, the oldest first (ADJ-10). */
export async function listParkedCommand(ledger: Ledger, output: Output, { shard, ...filter }: ParkedOptions): Promise<void> {
  const wanted = await shardsAskedFor(ledger, shard)
  const parked = (
    await Promise.all(wanted.map(async ({ database, no }) => (await listParked(database, filter)).map((each) => ({ shard: no, ...each }))))
  )
    .flat()
    .sort((left, right) => Number(left.parkedAtUs - right.parkedAtUs))
    .slice(0, filter.limit)
  output.result(
    parked.map(({ key, ...rest }) => ({ ...rest, key: key?.toString('utf8') ?? null, key_base64: key?.toString('base64') ?? null })),
    () => (parked.length === 0 ? ['nothing is parked'] : toTable([HEADING, ...parked.map(rowOf)])),
  )
}

const HEADING = ['shard', 'id', 'position', 'state', 'reason', 'parked at', 'tries', 'bytes', 'detail']

function rowOf(parked: ParkedView & { readonly shard: number }): string[] {
  const { shard, id, partition, offset, state, reason, parkedAtUs, attempts, valueBytes, detail } = parked
  return [shard, id, `${partition}@${offset}`, state, reason, timeOfUs(parkedAtUs), attempts, valueBytes, detail].map(String)
}

/** What waits, by reason: of each shard, and in all. */
export async function groupParkedCommand(ledger: Ledger, output: Output, shard: number | undefined): Promise<void> {
  const wanted = await shardsAskedFor(ledger, shard)
  const groups = (
    await Promise.all(wanted.map(async ({ database, no }) => (await groupParked(database)).map((group) => ({ shard: no, ...group }))))
  ).flat()
  const total = groups.reduce((sum, { count }) => sum + count, 0)
  output.result({ total, groups }, () =>
    groups.length === 0
      ? ['nothing is parked']
      : [
          ...toTable([
            ['shard', 'reason', 'count', 'oldest', 'newest'],
            ...groups.map((group) => [
              String(group.shard),
              group.reason,
              String(group.count),
              timeOfUs(group.oldestUs),
              timeOfUs(group.newestUs),
            ]),
          ]),
          `${total} in all`,
        ],
  )
}
