import type { Admin, Consumer } from 'kafkajs'
import type { LogBounds } from './chain.ts'
import { CommandLogError, describeError } from './errors.ts'
import type { LogControl } from './log-control.ts'
import type { CommandLogLogger } from './observer.ts'

export interface KafkaControlOptions {
  readonly topic: string
  readonly groupId: string
  readonly consumer: Consumer
  readonly admin: Admin
  readonly logger: CommandLogLogger
}

/** LogControl over kafkajs. */
export class KafkaControl implements LogControl {
  readonly #options: KafkaControlOptions
  #current: Promise<ReadonlyMap<number, LogBounds>> | null = null
  #next: Promise<ReadonlyMap<number, LogBounds>> | null = null

  constructor(options: KafkaControlOptions) {
    this.#options = options
  }

  pause(partitions: readonly number[]): void {
    const { consumer, topic } = this.#options
    this.#whileRunning(() => consumer.pause([{ topic, partitions: [...partitions] }]))
  }

  resume(partitions: readonly number[]): void {
    const { consumer, topic } = this.#options
    this.#whileRunning(() => consumer.resume([{ topic, partitions: [...partitions] }]))
  }

  seek(partition: number, offset: bigint): void {
    const { consumer, topic } = this.#options
    this.#whileRunning(() => consumer.seek({ topic, partition, offset: offset.toString() }))
  }

  /** kafkajs throws while it is not in a group. Harmless: every join pauses and places all partitions afresh. */
  #whileRunning(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#options.logger.debug('the consumer is between two groups', { error: describeError(error) })
    }
  }

  /** @throws CommandLogError TOPIC_UNKNOWN if the topic has no such partition; what kafkajs throws otherwise. */
  async bounds(partition: number): Promise<LogBounds> {
    const bounds = (await this.#allBounds()).get(partition)
    if (bounds === undefined) throw new CommandLogError('TOPIC_UNKNOWN', `topic ${this.#options.topic} has no partition ${partition}`)
    return bounds
  }

  /** One request tells the bounds of all partitions: calls made while one runs share the next one, so no answer is older than its call. */
  #allBounds(): Promise<ReadonlyMap<number, LogBounds>> {
    if (this.#current === null) {
      this.#current = this.#fetchBounds().finally(() => {
        this.#current = null
      })
      return this.#current
    }
    this.#next ??= this.#current.then(nothing, nothing).then(() => {
      this.#next = null
      return this.#allBounds()
    })
    return this.#next
  }

  async #fetchBounds(): Promise<ReadonlyMap<number, LogBounds>> {
    const offsets = await this.#options.admin.fetchTopicOffsets(this.#options.topic)
    return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]))
  }

  async groupOffset(partition: number): Promise<bigint | null> {
    const { admin, groupId, topic } = this.#options
    const [answer] = await admin.fetchOffsets({ groupId, topics: [topic] })
    const offset = answer?.partitions.find((entry) => entry.partition === partition)?.offset
    return offset === undefined || BigInt(offset) < 0n ? null : BigInt(offset)
  }
}

function nothing(): void {}
