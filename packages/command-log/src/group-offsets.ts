import type { CommandLogLogger, CommandLogMetrics } from './observer.ts'
import type { Timers } from './timers.ts'

export interface GroupOffsetsOptions {
  readonly commit: (offsets: readonly (readonly [partition: number, nextOffset: bigint])[]) => Promise<void>
  readonly intervalMs: number
  readonly logger: CommandLogLogger
  readonly metrics: CommandLogMetrics
  readonly timers: Timers
}

/**
 * Tells Kafka, now and then, how far each partition is finished. For lag tools only: the database is the truth (ADJ-8), so a
 * failure is logged and forgotten. Only what the handler finished ever gets here.
 */
export class GroupOffsets {
  readonly #options: GroupOffsetsOptions
  readonly #pending = new Map<number, bigint>()
  #flushing: Promise<void> | null = null
  #cancelTimer: (() => void) | null = null

  constructor(options: GroupOffsetsOptions) {
    this.#options = options
  }

  record(partition: number, nextOffset: bigint): void {
    this.#pending.set(partition, nextOffset)
    this.#cancelTimer ??= this.#options.timers.after(this.#options.intervalMs, () => {
      this.#cancelTimer = null
      void this.flush()
    })
  }

  /** Forgets what was not committed yet: another member may own the partitions now. */
  clear(): void {
    this.#pending.clear()
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  /** Commits what is pending. Never rejects; one commit at a time. */
  async flush(): Promise<void> {
    while (this.#flushing !== null) await this.#flushing
    if (this.#pending.size === 0) return
    this.#flushing = this.#commit([...this.#pending]).finally(() => {
      this.#flushing = null
    })
    this.#pending.clear()
    await this.#flushing
  }

  async #commit(offsets: readonly (readonly [number, bigint])[]): Promise<void> {
    try {
      await this.#options.commit(offsets)
    } catch (error) {
      // Expelled, rebalancing or cut off: the next commit or the next owner tells Kafka again.
      this.#options.metrics.groupCommitFailed()
      this.#options.logger.warn('Kafka did not take the group offsets', { error })
    }
  }
}
