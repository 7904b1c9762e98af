import type { LogAdmin } from '@onceledger/command-log'
import { loadProgress, type PartitionProgress, type ShardDatabase } from '@onceledger/ledger-store'
import { TimedOut, waitFor } from '@onceledger/runtime'

/** Where a whole topic stands: what the log holds and what the shards have applied. */
export interface TopicProgress {
  readonly applied: bigint
  readonly end: bigint
  readonly partitions: readonly PartitionProgress[]
}

export async function topicProgress(
  databases: readonly ShardDatabase[],
  admin: Pick<LogAdmin, 'topicOffsets'>,
  topic: string,
): Promise<TopicProgress> {
  const partitions = (await Promise.all(databases.map((database) => loadProgress(database, topic)))).flat()
  const bounds = await admin.topicOffsets(topic)
  const end = [...bounds.values()].reduce((sum, { high }) => sum + high, 0n)
  return { applied: partitions.reduce((sum, { nextOffset }) => sum + nextOffset, 0n), end, partitions }
}

/** Waits until every message of the topic is applied. @throws TimedOut saying how far it came. */
export async function waitForLagZero(
  databases: readonly ShardDatabase[],
  admin: Pick<LogAdmin, 'topicOffsets'>,
  topic: string,
  timeoutMs: number,
): Promise<TopicProgress> {
  let last: TopicProgress = { applied: 0n, end: 0n, partitions: [] }
  try {
    return await waitFor(
      async () => {
        last = await topicProgress(databases, admin, topic)
        return last.applied >= last.end ? last : null
      },
      { timeoutMs, intervalMs: 100, what: 'lag zero' },
    )
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error
    throw new TimedOut(`lag zero: ${last.applied} of ${last.end} messages applied within ${timeoutMs} ms`)
  }
}
