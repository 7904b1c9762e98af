import type { HandleOutcome, PartitionBatch } from './batch.ts'
import type { StartPosition } from './chain.ts'
import type { LogConnection } from './kafka-client.ts'
import type { PartitionState } from './lane.ts'
import { type CommandLogLogger, type CommandLogMetrics, SILENT_LOGGER, SILENT_METRICS } from './observer.ts'
import { SYSTEM_TIMERS, type Timers } from './timers.ts'

/** How much may be taken at once and held in memory. Bytes are those of key and value and 512 for the rest of a record. */
export interface ConsumerLimits {
  /** Records of one batch. Default 1,000. */
  readonly maxBatchRecords: number
  /** Bytes of one batch, at least one record. Default 4 MiB. */
  readonly maxBatchBytes: number
  /** Records queued of one partition before its fetching pauses; one fetch more may follow. Default 4,000. */
  readonly maxQueuedRecords: number
  /** Bytes queued of all partitions before all fetching pauses. Default 64 MiB. */
  readonly maxQueuedBytes: number
  /** Batches handled at the same time, of different partitions. Default 4. */
  readonly maxConcurrentBatches: number
}

export interface ConsumerOptions extends LogConnection {
  readonly topic: string
  /** One group per shard. */
  readonly groupId: string
  /** The partitions of this shard. Asked by the leader of the group at every join; a rejection makes the group try again. */
  readonly ownedPartitions: () => Promise<readonly number[]>
  /** Where a partition starts. Asked at every assignment, for many partitions at once; a rejection is retried with back-off. */
  readonly startOf: (partition: number) => Promise<StartPosition>
  /**
   * Judges a batch. When the signal aborts, the partition is no longer this member's: the outcome will be ignored, and the handler should end
   * soon, since the partition cannot start again here before. A rejection pauses the partition and the same records come again.
   */
  readonly handle: (batch: PartitionBatch, signal: AbortSignal) => Promise<HandleOutcome>
  readonly onPartitionState?: (partition: number, state: PartitionState) => void
  readonly limits?: Partial<ConsumerLimits>
  readonly logger?: CommandLogLogger
  readonly metrics?: CommandLogMetrics
  /** After this long without a heartbeat the group gives the partitions away. Default 10,000. */
  readonly sessionTimeoutMs?: number
  /** How long the members have to join again. Default 30,000. */
  readonly rebalanceTimeoutMs?: number
  readonly heartbeatIntervalMs?: number
  /** The longest time that an idle fetch waits at the broker, and that a resumed partition may wait for its turn. Default 100. */
  readonly fetchWaitMs?: number
  /** Default 1 MiB of one partition and 8 MiB in all. */
  readonly fetchPartitionBytes?: number
  readonly fetchBytes?: number
  /** How often Kafka is told the group's offsets. Default 1,000. */
  readonly commitIntervalMs?: number
  readonly timers?: Timers
  /** A number in [0, 1), for jitter. */
  readonly random?: () => number
}

export type ResolvedConsumerOptions = Required<Omit<ConsumerOptions, 'limits' | 'connectTimeoutMs' | 'requestTimeoutMs'>> &
  LogConnection & { readonly limits: ConsumerLimits }

const MIB = 1024 * 1024

export function resolveOptions(given: ConsumerOptions): ResolvedConsumerOptions {
  return {
    onPartitionState: () => {},
    logger: SILENT_LOGGER,
    metrics: SILENT_METRICS,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 30_000,
    heartbeatIntervalMs: 1000,
    fetchWaitMs: 100,
    fetchPartitionBytes: MIB,
    fetchBytes: 8 * MIB,
    commitIntervalMs: 1000,
    timers: SYSTEM_TIMERS,
    random: Math.random,
    ...given,
    limits: {
      maxBatchRecords: 1000,
      maxBatchBytes: 4 * MIB,
      maxQueuedRecords: 4000,
      maxQueuedBytes: 64 * MIB,
      maxConcurrentBatches: 4,
      ...given.limits,
    },
  }
}
