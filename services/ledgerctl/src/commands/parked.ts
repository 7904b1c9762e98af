import { listParked } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs, toTable } from '../output.ts'

export interface ParkedOptions {
  readonly reason?: string
  /** In all, the oldest first. */
  readonly limit: number
  readonly shard?: number
}

/** Messages that could not be judged, of all shards or of one (ADJ-10). */
export async function listParkedCommand(ledger: Ledger, output: Output, { reason, limit, shard }: ParkedOptions): Promise<void> {
  const shards = await ledger.shards()
  const wanted = shards.map((database, no) => ({ database, no })).filter(({ no }) => shard === undefined || no === shard)
  if (wanted.length === 0) throw new CommandFailed(EXIT.usage, `there is no shard ${shard}; there are ${shards.length}, counted from 0`)
  const filter = reason === undefined ? { limit } : { limit, reason }
  const parked = (
    await Promise.all(wanted.map(async ({ database, no }) => (await listParked(database, filter)).map((each) => ({ shard: no, ...each }))))
  )
    .flat()
    .sort((left, right) => Number(left.parkedAtUs - right.parkedAtUs))
    .slice(0, limit)
  output.result(
    parked.map(({ key, ...rest }) => ({ ...rest, key: key?.toString('utf8') ?? null, key_base64: key?.toString('base64') ?? null })),
    () => (parked.length === 0 ? ['nothing is parked'] : toTable([HEADING, ...parked.map(rowOf)])),
  )
}

const HEADING = ['shard', 'id', 'position', 'reason', 'parked at', 'tries', 'bytes', 'detail']

type Parked = Awaited<ReturnType<typeof listParked>>[number] & { readonly shard: number }

function rowOf({ shard, id, partition, offset, reason, parkedAtUs, attempts, valueBytes, detail }: Parked): string[] {
  return [shard, id, `${partition}@${offset}`, reason, timeOfUs(parkedAtUs), attempts, valueBytes, detail].map(String)
}
