import { countParked, loadOwnedBuckets, loadProgress } from '@onceledger/ledger-store'
import { maskSecret } from '@onceledger/runtime'
import type { Ledger } from '../ledger.ts'
import { type Output, toTable } from '../output.ts'

/** Where every shard stands: what it owns, how far it came, what it answered, what waits. */
export async function shardsCommand(ledger: Ledger, output: Output, withPartitions: boolean): Promise<void> {
  const { topic, bucketCount } = await ledger.foundation()
  const bounds = await ledger.admin.topicOffsets(topic)
  const databases = await ledger.shards()
  const shards = await Promise.all(
    databases.map(async (database, shard) => {
      const buckets = await loadOwnedBuckets(database)
      const progress = await loadProgress(database, topic)
      const applied = new Map(progress.map((each) => [each.partition, each]))
      const partitions = buckets.map((partition) => {
        const { high = 0n, low = 0n } = bounds.get(partition) ?? {}
        const nextOffset = applied.get(partition)?.nextOffset ?? low
        return {
          partition,
          next_offset: nextOffset,
          high_watermark: high,
          lag: high - nextOffset,
          unpublished: nextOffset - (applied.get(partition)?.publishedOffset ?? nextOffset),
          verdicts: applied.get(partition)?.tally ?? null,
        }
      })
      const sum = (of: (tally: (typeof progress)[number]['tally']) => bigint): bigint =>
        progress.reduce((total, { tally }) => total + of(tally), 0n)
      return {
        shard,
        url: maskSecret('url', ledger.config.mysqlUrls[shard] ?? ''),
        buckets: buckets.length,
        lag: partitions.reduce((total, { lag }) => total + lag, 0n),
        unpublished: partitions.reduce((total, { unpublished }) => total + unpublished, 0n),
        verdicts: {
          applied: sum(({ applied: count }) => count),
          duplicate: sum(({ duplicate }) => duplicate),
          conflict: sum(({ conflict }) => conflict),
          rejected: sum(({ rejected }) => rejected),
          parked: sum(({ parked }) => parked),
          deferred: sum(({ deferred }) => deferred),
          stale: sum(({ stale }) => stale),
        },
        parked_now: await countParked(database),
        partitions,
      }
    }),
  )
  output.result({ topic, bucket_count: bucketCount, shards }, () => [
    ...toTable([
      [
        'shard',
        'buckets',
        'lag',
        'untold',
        'applied',
        'duplicate',
        'conflict',
        'rejected',
        'stale',
        'parked',
        'deferred now',
        'parked now',
        'database',
      ],
      ...shards.map(({ shard, buckets, lag, unpublished, verdicts, parked_now: waiting, url }) => [
        String(shard),
        `${buckets} of ${bucketCount}`,
        ...[lag, unpublished, verdicts.applied, verdicts.duplicate, verdicts.conflict, verdicts.rejected, verdicts.stale].map(String),
        ...[verdicts.parked, verdicts.deferred].map(String),
        String([...waiting.values()].reduce((total, count) => total + count, 0)),
        url,
      ]),
    ]),
    ...(withPartitions ? ['', ...partitionTable(shards)] : []),
  ])
}

interface ShardRow {
  readonly shard: number
  readonly partitions: readonly {
    readonly partition: number
    readonly next_offset: bigint
    readonly high_watermark: bigint
    readonly lag: bigint
    readonly unpublished: bigint
  }[]
}

function partitionTable(shards: readonly ShardRow[]): string[] {
  const rows = shards.flatMap(({ shard, partitions }) =>
    partitions.map(({ partition, next_offset: next, high_watermark: high, lag, unpublished }) =>
      [partition, shard, next, high, lag, unpublished].map(String),
    ),
  )
  return toTable([['partition', 'shard', 'next offset', 'log end', 'lag', 'untold'], ...rows])
}
