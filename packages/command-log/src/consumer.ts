import type { Consumer, EachBatchPayload } from 'kafkajs'
import { type ConsumerOptions, resolveOptions } from './consumer-options.ts'
import { CommandLogError, describeError } from './errors.ts'
import { GroupOffsets } from './group-offsets.ts'
import { ownedPartitionsAssigner } from './kafka-assigner.ts'
import { createKafka, RETRY } from './kafka-client.ts'
import { KafkaControl } from './kafka-control.ts'
import { fetchedOffsetOf, sourceRecordsOf } from './kafka-record.ts'
import { PartitionDesk, type PartitionStats } from './partition-desk.ts'
import { settlesWithin } from './timers.ts'

const BOUNDS_REFRESH_MS = 5000
const DISCONNECT_TIMEOUT_MS = 10_000

/** A member of a shard's consumer group. */
export interface CommandConsumer {
  /**
   * Joins the group and begins. May be called once.
   * @throws CommandLogError REQUEST_FAILED if the brokers cannot be reached or do not know the topic.
   */
  start(): Promise<void>
  /**
   * Takes no new batch, waits for those in flight (past the time they are interrupted), commits the group offsets and leaves.
   * Safe to call more than once.
   */
  stop(options: { readonly timeoutMs: number }): Promise<void>
  stats(): readonly PartitionStats[]
  /** Resolves once the consumer has ended: undefined after stop(), the error after a crash. The process should end then. */
  readonly closed: Promise<Error | undefined>
}

/**
 * A consumer whose progress is the database's word and not Kafka's (ADJ-8). Records of a partition reach `handle` in order and without
 * gaps, one batch at a time; a record is never skipped, whatever fails.
 */
export function createCommandConsumer(given: ConsumerOptions): CommandConsumer {
  const options = resolveOptions(given)
  const { topic, groupId, logger, metrics, timers } = options
  const kafka = createKafka(options, logger)
  const admin = kafka.admin()
  const consumer: Consumer = kafka.consumer({
    groupId,
    partitionAssigners: [
      ownedPartitionsAssigner({ topic, ownedPartitions: options.ownedPartitions, heldPartitions: () => desk.partitions(), logger }),
    ],
    sessionTimeout: options.sessionTimeoutMs,
    rebalanceTimeout: options.rebalanceTimeoutMs,
    heartbeatInterval: options.heartbeatIntervalMs,
    maxWaitTimeInMs: options.fetchWaitMs,
    maxBytesPerPartition: options.fetchPartitionBytes,
    maxBytes: options.fetchBytes,
    retry: RETRY,
  })
  const groupOffsets = new GroupOffsets({
    intervalMs: options.commitIntervalMs,
    logger,
    metrics,
    timers,
    commit: (offsets) =>
      consumer.commitOffsets(offsets.map(([partition, nextOffset]) => ({ topic, partition, offset: nextOffset.toString() }))),
  })
  const control = new KafkaControl({ topic, groupId, consumer, admin, logger })
  const desk = new PartitionDesk({ ...options, control, onFinished: (partition, nextOffset) => groupOffsets.record(partition, nextOffset) })
  const closed = Promise.withResolvers<Error | undefined>()
  let cancelRefresh = (): void => {}
  let stopping: Promise<void> | null = null

  async function eachBatch({ batch, resolveOffset }: EachBatchPayload): Promise<void> {
    const accepted = await desk.accept({
      partition: batch.partition,
      fetchedOffset: fetchedOffsetOf(batch),
      lastOffset: BigInt(batch.lastOffset()),
      highWatermark: BigInt(batch.highWatermark),
      records: sourceRecordsOf(topic, batch.partition, batch.messages),
    })
    if (accepted) resolveOffset(batch.lastOffset())
  }

  function listen(): void {
    consumer.on(consumer.events.REBALANCING, () => {
      desk.suspend()
      void groupOffsets.flush()
    })
    // kafkajs calls this before the first fetch of the new assignment, so that no fetch begins at Kafka's own offsets.
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      groupOffsets.clear()
      desk.assign(stopping === null ? (payload.memberAssignment[topic] ?? []) : [])
    })
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      desk.suspend()
      if (payload.restart) {
        logger.error('the Kafka consumer starts again', { error: describeError(payload.error) })
        return
      }
      const error = new CommandLogError('CONSUMER_CRASHED', `the Kafka consumer ended: ${describeError(payload.error)}`, { cause: payload.error })
      void end(error)
    })
  }

  function refreshBounds(): void {
    cancelRefresh = timers.after(BOUNDS_REFRESH_MS, () => {
      desk
        .refreshBounds()
        .catch((error: unknown) => logger.debug('the ends of the log are unknown', { error: describeError(error) }))
        .finally(() => {
          if (stopping === null) refreshBounds()
        })
    })
  }

  async function end(error: Error | undefined): Promise<void> {
    cancelRefresh()
    groupOffsets.stop()
    desk.assign([])
    await settlesWithin(timers, DISCONNECT_TIMEOUT_MS, Promise.allSettled([consumer.disconnect(), admin.disconnect()]))
    closed.resolve(error)
  }

  async function start(): Promise<void> {
    listen()
    try {
      await Promise.all([admin.connect(), consumer.connect()])
      await consumer.subscribe({ topics: [topic], fromBeginning: true })
      await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
    } catch (cause) {
      const error = new CommandLogError('REQUEST_FAILED', `cannot consume ${topic}: ${describeError(cause)}`, { cause })
      await end(error)
      throw error
    }
    refreshBounds()
  }

  async function stop({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    desk.suspend()
    const drained = await settlesWithin(timers, timeoutMs, desk.drained())
    if (!drained) logger.warn('batches in flight are interrupted', { timeoutMs })
    await settlesWithin(timers, DISCONNECT_TIMEOUT_MS, groupOffsets.flush())
    await end(undefined)
  }

  return {
    start,
    stop: (stopOptions) => (stopping ??= stop(stopOptions)),
    stats: () => desk.stats(),
    closed: closed.promise,
  }
}
