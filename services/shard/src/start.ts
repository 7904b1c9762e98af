import { setTimeout as delay } from 'node:timers/promises'
import { type CommandConsumer, type CommandLogLogger, createCommandConsumer, type StartPosition } from '@onceledger/command-log'
import { createAdjudicator, loadAppliedOffset, loadOwnedBuckets, STORE_FAILPOINTS, StoreMisconfigured } from '@onceledger/ledger-store'
import {
  type AdminServer,
  createFailpoints,
  createMetrics,
  HealthState,
  type Logger,
  startAdminServer,
  type StopStep,
  stopInReverse,
} from '@onceledger/runtime'
import type { ShardConfig } from './config.ts'
import { openContext, type ShardContext, systemNowUs } from './context.ts'
import { createShardMetrics, type ShardMetrics, watchPartitions } from './observe.ts'
import { createPartitionHandler } from './partition-handler.ts'
import { findTopicFault } from './topic-check.ts'
import { watchOutside } from './watch.ts'

export interface RunningShard {
  readonly admin: AdminServer
  /** Resolves when the consumer has ended: undefined after a stop, the error after a crash. */
  readonly closed: Promise<Error | undefined>
  /** Drains what is in flight, commits, leaves the group, closes everything. */
  stop(timeoutMs: number): Promise<void>
}

/** Small fetches keep the process small; a queue of records in memory hides their latency. */
const FETCH_BYTES = 4 * 1024 * 1024
const FETCH_PARTITION_BYTES = 1024 * 1024
const UNDO_TIMEOUT_MS = 10_000

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Opens, checks and starts one process of a shard.
 * @throws ConfigError, StoreMisconfigured, CommandLogError: with everything closed again.
 */
export async function startShard(config: ShardConfig, environment: Environment, log: Logger): Promise<RunningShard> {
  const steps: StopStep[] = []
  const stop = (timeoutMs: number): Promise<void> => stopInReverse(steps, log)(timeoutMs)
  try {
    return { ...(await open(config, environment, log, steps)), stop }
  } catch (error) {
    // What stopped the start is what is told; a step that cannot be undone has been logged.
    await stop(UNDO_TIMEOUT_MS).catch(() => {})
    throw error
  }
}

/** Each thing that is opened adds how it is closed. */
async function open(config: ShardConfig, environment: Environment, log: Logger, steps: StopStep[]): Promise<Omit<RunningShard, 'stop'>> {
  const failpoints = createFailpoints({ env: environment, known: STORE_FAILPOINTS })
  const context = await openContext(config)
  steps.push({ name: 'databases', stop: () => context.close() })
  const topicFault = await findTopicFault(context.admin, context.foundation)
  if (topicFault !== null) throw new StoreMisconfigured('TOPIC_UNFIT', topicFault)

  const health = new HealthState()
  health.set('consumer', false, 'not started yet')
  const registry = createMetrics({ processMetrics: true })
  const metrics = createShardMetrics(registry)
  const admin = await startAdminServer({ host: config.adminHost, port: config.adminPort, metrics: registry, health, log })
  steps.push({ name: 'admin server', stop: () => admin.close() })

  const adjudicator = createAdjudicator({
    database: context.database,
    names: context.names,
    registry: context.registry,
    bucketCount: context.foundation.bucketCount,
    publishing: false,
    nowUs: systemNowUs,
    failpoints,
    random: Math.random,
    sleep: (ms) => delay(ms),
    observer: metrics,
  })
  const handle = createPartitionHandler({
    fresh: context.fresh,
    adjudicator,
    registry: context.registry,
    bucketCount: context.foundation.bucketCount,
    redelivery: config.startFrom === 'group-offset',
    onCommitted: (_batch, { judgements }) => metrics.judged(judgements),
  })
  const consumer = createConsumer(config, context, handle, metrics, health, log)
  steps.push({ name: 'consumer', stop: (timeoutMs) => consumer.stop({ timeoutMs }) })
  await consumer.start()
  health.set('consumer', true, '')
  steps.push({ name: 'watch', stop: watchOutside({ context, consumer, health, metrics, log }) })
  steps.push({ name: 'readiness', stop: () => health.set('consumer', false, 'stopping') })
  return { admin, closed: consumer.closed }
}

function createConsumer(
  config: ShardConfig,
  context: ShardContext,
  handle: ReturnType<typeof createPartitionHandler>,
  metrics: ShardMetrics,
  health: HealthState,
  log: Logger,
): CommandConsumer {
  const { topic } = context.foundation
  return createCommandConsumer({
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
    logger: fieldsLast(log),
  })
}

/** The database's word where it has one (ADJ-8); a partition never seen before starts at its first record. */
async function startOf(config: ShardConfig, context: ShardContext, partition: number): Promise<StartPosition> {
  const applied = await loadAppliedOffset(context.database, context.foundation.topic, partition)
  if (applied === null) {
    context.fresh.add(partition)
    return { kind: 'beginning' }
  }
  context.fresh.delete(partition)
  return config.startFrom === 'group-offset' ? { kind: 'group-offset' } : { kind: 'applied', ...applied }
}

/** The log's packages name the message first. */
function fieldsLast(log: Logger): CommandLogLogger {
  return {
    debug: (message, fields = {}) => log.debug(fields, message),
    info: (message, fields = {}) => log.info(fields, message),
    warn: (message, fields = {}) => log.warn(fields, message),
    error: (message, fields = {}) => log.error(fields, message),
  }
}
