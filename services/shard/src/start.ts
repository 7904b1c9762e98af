import { setTimeout as delay } from 'node:timers/promises'
import { type CommandConsumer, createCommandConsumer, type StartPosition } from '@onceledger/command-log'
import { createAdjudicator, loadAppliedOffset, loadOwnedBuckets, STORE_FAILPOINTS } from '@onceledger/ledger-store'
import { type AdminServer, createFailpoints, createMetrics, HealthState, type Logger, startAdminServer } from '@onceledger/runtime'
import type { ShardConfig } from './config.ts'
import { openContext, type ShardContext, systemNowUs } from './context.ts'
import { createShardMetrics, type ShardMetrics, watchPartitions } from './observe.ts'
import { createPartitionHandler } from './partition-handler.ts'
import { findTopicFault } from './topic-check.ts'

export interface RunningShard {
  readonly admin: AdminServer
  /** Resolves when the consumer has ended: undefined after a stop, the error after a crash. */
  readonly closed: Promise<Error | undefined>
  /** Drains what is in flight, commits, leaves the group, closes everything. */
  stop(timeoutMs: number): Promise<void>
}

const WATCH_INTERVAL_MS = 5_000
/** Small fetches keep the process small; a queue of records in memory hides their latency. */
const FETCH_BYTES = 4 * 1024 * 1024
const FETCH_PARTITION_BYTES = 512 * 1024

/**
 * Opens, checks and starts one process of a shard.
 * @throws ConfigError, StoreMisconfigured, CommandLogError: with everything closed again.
 */
export async function startShard(
  config: ShardConfig,
  environment: Readonly<Record<string, string | undefined>>,
  log: Logger,
): Promise<RunningShard> {
  const failpoints = createFailpoints({ env: environment, known: STORE_FAILPOINTS })
  const context = await openContext(config)
  const health = new HealthState()
  const registry = createMetrics({ processMetrics: true })
  const metrics = createShardMetrics(registry)
  health.set('consumer', false, 'not started yet')
  const admin = await startAdminServer({ host: config.adminHost, port: config.adminPort, metrics: registry, health, log })

  const adjudicator = createAdjudicator({
    database: context.database,
    names: context.names,
    registry: context.registry,
    nowUs: systemNowUs,
    failpoints,
    random: Math.random,
    sleep: (ms) => delay(ms),
    observer: metrics,
  })
  const { topic, bucketCount } = context.foundation
  const handle = createPartitionHandler({
    adjudicator,
    registry: context.registry,
    bucketCount,
    redelivery: config.startFrom === 'group-offset',
    onCommitted: (_batch, { judgements }) => metrics.judged(judgements),
  })
  const consumer = createCommandConsumer({
    brokers: config.kafkaBrokers,
    clientId: `onceledger-shard-${config.shard}-${process.pid}`,
    topic,
    groupId: config.groupId ?? `onceledger.${topic}.shard-${config.shard}`,
    ownedPartitions: () => loadOwnedBuckets(context.database),
    startOf: (partition) => startOf(config, context, partition),
    handle,
    onPartitionState: watchPartitions(health, metrics, log),
    limits: { maxBatchRecords: config.batchRecords, maxConcurrentBatches: config.connections, maxQueuedBytes: config.queueBytes },
    sessionTimeoutMs: config.sessionTimeoutMs,
    fetchBytes: FETCH_BYTES,
    fetchPartitionBytes: FETCH_PARTITION_BYTES,
    metrics,
    logger: {
      debug: (message, fields) => log.debug(fields ?? {}, message),
      info: (message, fields) => log.info(fields ?? {}, message),
      warn: (message, fields) => log.warn(fields ?? {}, message),
      error: (message, fields) => log.error(fields ?? {}, message),
    },
  })

  const fault = await findTopicFault(context.admin, { topic, bucketCount })
  health.set('topic', fault === null, fault ?? '')
  await consumer.start()
  health.set('consumer', true, '')
  const watch = setInterval(() => void watchOutside(context, consumer, health, metrics, log), WATCH_INTERVAL_MS)
  return {
    admin,
    closed: consumer.closed,
    async stop(timeoutMs) {
      health.set('consumer', false, 'stopping')
      clearInterval(watch)
      await consumer.stop({ timeoutMs })
      await context.close()
      await admin.close()
    },
  }
}

/** The database's word where it has one (ADJ-8); a partition never seen before starts at its first record. */
async function startOf(config: ShardConfig, context: ShardContext, partition: number): Promise<StartPosition> {
  if (config.startFrom === 'group-offset') return { kind: 'group-offset' }
  const applied = await loadAppliedOffset(context.database, context.foundation.topic, partition)
  return applied === null ? { kind: 'beginning' } : { kind: 'applied', ...applied }
}

async function watchOutside(
  context: ShardContext,
  consumer: CommandConsumer,
  health: HealthState,
  metrics: ShardMetrics,
  log: Logger,
): Promise<void> {
  for (const { partition, lag } of consumer.stats()) metrics.lag(partition, lag)
  try {
    const fault = await findTopicFault(context.admin, context.foundation)
    health.set('topic', fault === null, fault ?? '')
    await context.database.withSession((session) => session.run('SELECT 1'))
    health.set('database', true, '')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    health.set('outside', false, reason)
    log.warn({ reason }, 'a periodic check failed')
  }
}
