import type { Admin, Consumer, EachBatchPayload } from 'kafkajs'
import { type ConsumerOptions, type ResolvedConsumerOptions, resolveOptions } from './consumer-options.ts'
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
  /** Asks `startOf` again where a partition goes on: its database stands elsewhere although no batch has shown it, as after a restore. */
  restart(partition: number): void
  /** Resolves once the consumer has ended: undefined after stop(), the error after a crash. The process should end then. */
  readonly closed: Promise<Error | undefined>
}

/**
 * A consumer whose progress is the database's word and not Kafka's (ADJ-8). Records of a partition reach `handle` in order and without
 * gaps, one batch at a time; a record is never skipped, whatever fails.
 */
export function createCommandConsumer(options: ConsumerOptions): CommandConsumer {
  return new KafkaCommandConsumer(resolveOptions(options))
}

/** Wires the partition desk to kafkajs: its events to assignments, its batches to deliveries. */
class KafkaCommandConsumer implements CommandConsumer {
  readonly #options: ResolvedConsumerOptions
  readonly #consumer: Consumer
  readonly #admin: Admin
  readonly #groupOffsets: GroupOffsets
  readonly #desk: PartitionDesk
  readonly #closed = Promise.withResolvers<Error | undefined>()
  #cancelRefresh: () => void = () => {}
  #stopping: Promise<void> | null = null
  #hasEnded = false

  constructor(options: ResolvedConsumerOptions) {
    this.#options = options
    const { topic, groupId, logger } = options
    const kafka = createKafka(options, logger)
    this.#admin = kafka.admin({ retry: RETRY })
    this.#consumer = kafka.consumer({
      groupId,
      partitionAssigners: [ownedPartitionsAssigner({ ...options, heldPartitions: () => this.#desk.partitions() })],
      sessionTimeout: options.sessionTimeoutMs,
      rebalanceTimeout: options.rebalanceTimeoutMs,
      heartbeatInterval: options.heartbeatIntervalMs,
      maxWaitTimeInMs: options.fetchWaitMs,
      maxBytesPerPartition: options.fetchPartitionBytes,
      maxBytes: options.fetchBytes,
      retry: RETRY,
    })
    this.#groupOffsets = new GroupOffsets({
      ...options,
      intervalMs: options.commitIntervalMs,
      commit: (offsets) =>
        this.#consumer.commitOffsets(offsets.map(([partition, nextOffset]) => ({ topic, partition, offset: nextOffset.toString() }))),
    })
    this.#desk = new PartitionDesk({
      ...options,
      control: new KafkaControl({ topic, groupId, consumer: this.#consumer, admin: this.#admin, logger }),
      onFinished: (partition, nextOffset) => this.#groupOffsets.record(partition, nextOffset),
    })
  }

  get closed(): Promise<Error | undefined> {
    return this.#closed.promise
  }

  stats(): readonly PartitionStats[] {
    return this.#desk.stats()
  }

  restart(partition: number): void {
    this.#desk.restart(partition)
  }

  async start(): Promise<void> {
    const { topic } = this.#options
    this.#listen()
    try {
      await Promise.all([this.#admin.connect(), this.#consumer.connect()])
      await this.#consumer.subscribe({ topics: [topic], fromBeginning: true })
      await this.#consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: (payload) => this.#take(payload) })
    } catch (cause) {
      const error = new CommandLogError('REQUEST_FAILED', `cannot consume ${topic}: ${describeError(cause)}`, { cause })
      await this.#end(error)
      throw error
    }
    this.#refreshBounds()
  }

  stop(options: { readonly timeoutMs: number }): Promise<void> {
    this.#stopping ??= this.#stop(options.timeoutMs)
    return this.#stopping
  }

  async #stop(timeoutMs: number): Promise<void> {
    const { timers, logger } = this.#options
    this.#desk.suspend(null)
    const isDrained = await settlesWithin(timers, timeoutMs, this.#desk.drained())
    if (!isDrained) logger.warn('batches in flight are interrupted', { timeoutMs })
    await settlesWithin(timers, DISCONNECT_TIMEOUT_MS, this.#groupOffsets.flush())
    await this.#end(undefined)
  }

  #listen(): void {
    const consumer = this.#consumer
    consumer.on(consumer.events.REBALANCING, () => {
      this.#desk.suspend(null)
      void this.#groupOffsets.flush()
    })
    // kafkajs calls this before the first fetch of the new assignment, so that no fetch begins at Kafka's own offsets.
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#groupOffsets.clear()
      this.#desk.assign(this.#stopping === null ? (payload.memberAssignment[this.#options.topic] ?? []) : [])
    })
    // A fetch that begins although the one before it never ended: that one failed without a new assignment. The topic may have been another's since.
    const fetchingFrom = new Set<number>()
    consumer.on(consumer.events.FETCH_START, ({ payload: { nodeId } }) => {
      if (fetchingFrom.has(nodeId)) this.#desk.restartAll()
      fetchingFrom.add(nodeId)
    })
    consumer.on(consumer.events.FETCH, ({ payload: { nodeId } }) => fetchingFrom.delete(nodeId))
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      const reason = describeError(payload.error)
      this.#desk.suspend(`the Kafka consumer failed: ${reason}`)
      if (payload.restart) this.#options.logger.error('the Kafka consumer starts again', { reason })
      else void this.#end(new CommandLogError('CONSUMER_CRASHED', `the Kafka consumer ended: ${reason}`, { cause: payload.error }))
    })
  }

  /** Only moves the records into the queues: kafkajs waits here for all partitions of a fetch, so nothing may be handled here. */
  async #take(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload
    if (batch.isEmpty()) return
    const isTaken = await this.#desk.accept({
      partition: batch.partition,
      fetchedOffset: fetchedOffsetOf(batch),
      lastOffset: BigInt(batch.lastOffset()),
      highWatermark: BigInt(batch.highWatermark),
      records: sourceRecordsOf(batch.topic, batch.partition, batch.messages),
    })
    if (isTaken) payload.resolveOffset(batch.lastOffset())
  }

  #refreshBounds(): void {
    this.#cancelRefresh = this.#options.timers.after(BOUNDS_REFRESH_MS, () => {
      this.#desk
        .refreshBounds()
        .catch((error: unknown) => this.#options.logger.debug('the ends of the log are unknown', { error: describeError(error) }))
        .finally(() => {
          if (!this.#hasEnded) this.#refreshBounds()
        })
    })
  }

  async #end(error: Error | undefined): Promise<void> {
    this.#hasEnded = true
    this.#cancelRefresh()
    this.#groupOffsets.stop()
    this.#desk.assign([])
    const left = Promise.allSettled([this.#consumer.disconnect(), this.#admin.disconnect()])
    await settlesWithin(this.#options.timers, DISCONNECT_TIMEOUT_MS, left)
    this.#closed.resolve(error)
  }
}
