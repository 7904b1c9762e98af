import { foundLedger } from '@onceledger/ledger-store'
import type { Ledger } from '../ledger.ts'
import type { Output } from '../output.ts'

export interface MigrateOptions {
  readonly topic: string
  readonly buckets: number
  readonly retentionMs: number
  readonly createTopic: boolean
}

/** Brings the system into being, or up to this release. Safe to repeat. */
export async function migrateCommand(ledger: Ledger, output: Output, options: MigrateOptions): Promise<void> {
  const { config, registry, admin } = ledger
  const { migrated } = await foundLedger({
    controlUrl: config.controlUrl,
    shardUrls: config.mysqlUrls,
    topic: options.topic,
    bucketCount: options.buckets,
    registry,
    nowUs: BigInt(Date.now()) * 1000n,
  })
  const topicCreated = options.createTopic
    ? (await admin.ensureTopic({ topic: options.topic, partitions: options.buckets, retentionMs: options.retentionMs })).created
    : false
  const { topic, buckets } = options
  output.result({ migrated, topic, topic_created: topicCreated, buckets, shards: config.mysqlUrls.length }, () => [
    ...migrated.map((name) => `ran ${name}`),
    migrated.length === 0 ? 'all schemas were up to date' : `${migrated.length} migrations run`,
    `${config.mysqlUrls.length} shards, ${buckets} buckets, topic ${topic}${topicCreated ? ' (created)' : ''}`,
  ])
}
