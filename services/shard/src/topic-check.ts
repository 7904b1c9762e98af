import type { LogAdmin } from '@onceledger/command-log'

export interface TopicExpectation {
  readonly topic: string
  readonly bucketCount: number
}

/** The same of a topic that this ledger writes to: a result goes to the partition of its command. */
export async function findWrittenTopicFault(
  admin: Pick<LogAdmin, 'describeTopic'>,
  { topic, bucketCount }: TopicExpectation,
): Promise<string | null> {
  const { partitions } = await admin.describeTopic(topic)
  if (partitions === bucketCount) return null
  return `topic ${topic} has ${partitions} partitions, must have ${bucketCount} as the commands have; ledgerctl migrate creates it`
}

/**
 * What stands against working on the topic as it is, or null. A topic with another number of partitions would route keys elsewhere
 * (RTE-1); a compacted one has lost commands that share a key.
 */
export async function findTopicFault(
  admin: Pick<LogAdmin, 'describeTopic'>,
  { topic, bucketCount }: TopicExpectation,
): Promise<string | null> {
  const { partitions, cleanupPolicy } = await admin.describeTopic(topic)
  if (partitions !== bucketCount)
    return `topic ${topic} has ${partitions} partitions, this ledger was founded with ${bucketCount} buckets; they must be equal for ever`
  if (cleanupPolicy !== 'delete')
    return `topic ${topic} has cleanup.policy=${cleanupPolicy}, must be delete: compaction drops commands that share a key`
  return null
}
