import { type CommandConsumer, type CommandLogLogger, createCommandConsumer, type StartPosition } from '@onceledger/command-log'
import { loadAppliedOffset, loadOwnedBuckets } from '@onceledger/ledger-store'
import type { HealthState, Logger } from '@onceledger/runtime'
import type { ShardConfig } from './config.ts'
import type { ShardContext } from './context.ts'
import { type ShardMetrics, watchPartitions } from './observe.ts'
import type { createPartitionHandler } from './partition-handler.ts'
import type { ResultsOutletParts } from './results/outlet.ts'

/** Small fetches keep the process small; a queue of records in memory hides their latency. */
const FETCH_BYTES = 4 * 1024 * 1024
const FETCH_PARTITION_BYTES = 1024 * 1024

export interface LogConsumerOptions {
  readonly config: ShardConfig
  readonly context: ShardContext
  readonly handle: ReturnType<typeof createPartitionHandler>
  /** Null where no results are published. */
  readonly results: ResultsOutletParts | null
  readonly health: HealthState
  readonly metrics: ShardMetrics
  readonly log: Logger
  /** Aborted before the consumer is stopped. */
  readonly stopping: AbortSignal
}

/** The consumer of this shard's partitions: its start positions from the database, its batches to the handler, its states to readiness. */
export function createLogConsumer(options: LogConsumerOptions): CommandConsumer {
  const { config, context, handle, results, health, metrics, log, stopping } = options
  const { topic } = context.foundation
  const tell = watchPartitions(health, metrics, log)
  return createCommandConsumer({
    brokers: config.kafkaBrokers,
    clientId: `onceledger-shard-${config.shard}-${process.pid}`,
    topic,
    groupId: config.groupId ?? `onceledger.${topic}.shard-${config.shard}`,
    ownedPartitions: () => loadOwnedBuckets(context.database),
    startOf: (partition) => startOf(config, context, results, partition),
    handle,
    onPartitionState(partition, state) {
      tell(partition, state)
      if (state.state === 'running') results?.catchUp.running(partition)
      // At the end what was judged is still told by this process.
      if (state.state !== 'revoked' || stopping.aborted) return
      results?.relay.forget(partition)
      results?.catchUp.forget(partition)
    },
    limits: { maxBatchRecords: config.batchRecords, maxConcurrentBatches: config.connections, maxQueuedBytes: config.queueBytes },
    sessionTimeoutMs: config.sessionTimeoutMs,
    fetchBytes: FETCH_BYTES,
    fetchPartitionBytes: FETCH_PARTITION_BYTES,
    metrics,
    logger: fieldsLast(log),
  })
}

/** The database's word where it has one (ADJ-8); a partition never seen before starts at its first record. */
async function startOf(
  config: ShardConfig,
  context: ShardContext,
  results: ResultsOutletParts | null,
  partition: number,
): Promise<StartPosition> {
  results?.relay.forget(partition)
  const applied = await loadAppliedOffset(context.database, context.foundation.topic, partition)
  if (applied === null) {
    context.fresh.add(partition)
    return { kind: 'beginning' }
  }
  context.fresh.delete(partition)
  if (config.startFrom === 'group-offset') return { kind: 'group-offset' }
  const start = results === null ? applied : await results.catchUp.startOf(partition, applied)
  return { kind: 'applied', nextOffset: start.nextOffset, lastDigest: start.lastDigest }
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
