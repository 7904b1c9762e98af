import { CommandLogError, type TopicDescription } from '@onceledger/command-log'
import { gapsTopicOf, resultsTopicOf } from '@onceledger/core'
import { foundLedger } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import type { Output } from '../output.ts'

/** Results and requests for missing versions are for whoever listens; the rows stay. */
const WRITTEN_RETENTION_MS = 7 * 24 * 3_600_000

export interface MigrateOptions {
  readonly topic: string
  readonly buckets: number
  /** -1 for ever. */
  readonly retentionMs: number
  readonly createTopic: boolean
}

/** Brings the system into being, or up to this release. Safe to repeat. */
export async function migrateCommand(ledger: Ledger, output: Output, options: MigrateOptions): Promise<void> {
  const { config, registry, admin } = ledger
  const { topic, buckets, retentionMs } = options
  const shards = config.mysqlUrls.length
  if (shards > buckets) throw new CommandFailed(EXIT.usage, `${shards} shards cannot share ${buckets} buckets; raise --buckets`)
  // The foundation never changes: a topic that does not fit must be found out before it is laid.
  if (options.createTopic) requireFitting(await findTopic(ledger, topic), buckets)
  const nowUs = BigInt(Date.now()) * 1000n
  const { migrated } = await foundLedger({
    controlUrl: config.controlUrl,
    shardUrls: config.mysqlUrls,
    topic,
    bucketCount: buckets,
    registry,
    nowUs,
  })
  const topicCreated = options.createTopic ? (await admin.ensureTopic({ topic, partitions: buckets, retentionMs })).created : false
  if (options.createTopic)
    for (const written of [resultsTopicOf(topic), gapsTopicOf(topic)])
      await admin.ensureTopic({ topic: written, partitions: buckets, retentionMs: WRITTEN_RETENTION_MS })
  output.result({ migrated, topic, topic_created: topicCreated, buckets, shards }, () => [
    ...migrated.map((name) => `ran ${name}`),
    migrated.length === 0 ? 'all schemas were up to date' : `${migrated.length} migrations run`,
    `${shards} shards, ${buckets} buckets, topic ${topic}${topicNote(options.createTopic, topicCreated)}`,
  ])
}

function topicNote(asked: boolean, created: boolean): string {
  if (!asked) return ' (Kafka was left alone)'
  return created ? ' (created)' : ' (there already; its settings were left alone)'
}

async function findTopic({ admin }: Ledger, topic: string): Promise<TopicDescription | null> {
  try {
    return await admin.describeTopic(topic)
  } catch (error) {
    if (error instanceof CommandLogError && error.code === 'TOPIC_UNKNOWN') return null
    throw error
  }
}

function requireFitting(topic: TopicDescription | null, buckets: number): void {
  if (topic === null) return
  if (topic.partitions !== buckets)
    throw new CommandFailed(
      EXIT.usage,
      `topic ${topic.topic} exists with ${topic.partitions} partitions, not ${buckets}: name another with --topic, or give --buckets ${topic.partitions}`,
    )
  if (topic.cleanupPolicy !== 'delete')
    throw new CommandFailed(
      EXIT.usage,
      `topic ${topic.topic} has cleanup.policy=${topic.cleanupPolicy}, which loses commands; set it to delete, or name another with --topic`,
    )
}
