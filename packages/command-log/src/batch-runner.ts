import { backoffMs } from './backoff.ts'
import { type HandleOutcome, type PartitionBatch, requireValidOutcome } from './batch.ts'
import { describeError } from './errors.ts'
import type { PartitionLane } from './lane.ts'
import type { LaneReporter } from './lane-reporter.ts'
import type { BatchResult, CommandLogLogger, CommandLogMetrics } from './observer.ts'
import type { Timers } from './timers.ts'

export interface BatchLimits {
  readonly maxBatchRecords: number
  readonly maxBatchBytes: number
  readonly maxConcurrentBatches: number
}

export interface BatchRunnerOptions {
  readonly topic: string
  readonly limits: BatchLimits
  readonly handle: (batch: PartitionBatch, signal: AbortSignal) => Promise<HandleOutcome>
  readonly onDone: (lane: PartitionLane) => void
  /** A lane begins to wait, or has waited long enough. */
  readonly onWaiting: () => void
  readonly onSeek: (lane: PartitionLane, outcome: HandleOutcome & { readonly kind: 'seek' }) => void
  readonly reporter: LaneReporter
  readonly logger: CommandLogLogger
  readonly metrics: CommandLogMetrics
  readonly timers: Timers
  readonly random: () => number
}

/** Hands batches to the handler: partitions in turn, several at once, never two batches of one partition. */
export class BatchRunner {
  readonly #options: BatchRunnerOptions
  /** By partition and not by lane: a batch of an old assignment holds up the new one. */
  readonly #inFlight = new Map<number, Promise<void>>()
  #lanes: readonly PartitionLane[] = []
  #cursor = 0
  #suspended = false

  constructor(options: BatchRunnerOptions) {
    this.#options = options
  }

  assign(lanes: readonly PartitionLane[]): void {
    this.#lanes = lanes
    this.#cursor = 0
    this.#suspended = false
  }

  /** No new batch begins until the next assignment. */
  suspend(): void {
    this.#suspended = true
  }

  /** Resolves when no batch of the partition is in flight. */
  async idle(partition: number): Promise<void> {
    await this.#inFlight.get(partition)
  }

  /** Resolves when no batch at all is in flight. To be called after suspend(). */
  async drained(): Promise<void> {
    await Promise.all(this.#inFlight.values())
  }

  /** Starts what can be started. Called after every event that may have made a lane ready. */
  pump(): void {
    while (!this.#suspended && this.#inFlight.size < this.#options.limits.maxConcurrentBatches) {
      const lane = this.#nextReady()
      if (lane === undefined) return
      const run = this.#run(lane).finally(() => {
        this.#inFlight.delete(lane.partition)
        this.pump()
      })
      this.#inFlight.set(lane.partition, run)
    }
  }

  #nextReady(): PartitionLane | undefined {
    for (let step = 0; step < this.#lanes.length; step++) {
      const at = (this.#cursor + step) % this.#lanes.length
      const lane = this.#lanes[at]
      if (lane === undefined || lane.phase !== 'running' || lane.backingOff) continue
      if (lane.queue.length === 0 || this.#inFlight.has(lane.partition)) continue
      this.#cursor = at + 1
      return lane
    }
    return undefined
  }

  async #run(lane: PartitionLane): Promise<void> {
    const { topic, limits, metrics, timers } = this.#options
    const records = lane.queue.peek(limits.maxBatchRecords, limits.maxBatchBytes)
    const batch: PartitionBatch = { topic, partition: lane.partition, expectedOffset: lane.position, records }
    const startedMs = timers.nowMs()
    const outcome = await this.#outcomeOf(batch, lane)
    // A lane that was revoked, broke or starts again meanwhile goes by the database's word and not by this outcome.
    const result = lane.phase === 'running' ? this.#apply(lane, outcome) : 'stale'
    metrics.batchHandled(lane.partition, records.length, timers.nowMs() - startedMs, result)
  }

  async #outcomeOf(batch: PartitionBatch, lane: PartitionLane): Promise<HandleOutcome | Error> {
    try {
      return requireValidOutcome(batch, await this.#options.handle(batch, lane.signal))
    } catch (error) {
      // A fault of the handler, whatever it is: the records stay, so waiting and asking again loses nothing.
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  #apply(lane: PartitionLane, outcome: HandleOutcome | Error): BatchResult {
    if (outcome instanceof Error) {
      lane.failures += 1
      this.#options.logger.error('the handler of a batch failed', { partition: lane.partition, position: lane.position, error: outcome })
      this.#backOff(lane, backoffMs(lane.failures, this.#options.random), `handler failed: ${describeError(outcome)}`)
      return 'failed'
    }
    if (outcome.kind === 'pause') {
      lane.failures += 1
      this.#backOff(lane, outcome.retryAfterMs, outcome.reason)
      return 'pause'
    }
    if (outcome.kind === 'seek') {
      lane.failures += 1
      this.#options.onSeek(lane, outcome)
      return 'seek'
    }
    if (outcome.nextOffset === lane.position) {
      lane.failures += 1
      this.#backOff(lane, backoffMs(lane.failures, this.#options.random), 'the handler finished nothing of the batch')
      return 'done'
    }
    lane.failures = 0
    lane.position = outcome.nextOffset
    lane.queue.dropBefore(outcome.nextOffset)
    this.#options.reporter.report(lane, 'running')
    this.#options.onDone(lane)
    return 'done'
  }

  #backOff(lane: PartitionLane, delayMs: number, reason: string): void {
    lane.backingOff = true
    this.#options.reporter.report(lane, 'paused', reason)
    const cancel = this.#options.timers.after(Math.max(0, delayMs), () => {
      lane.signal.removeEventListener('abort', cancel)
      lane.backingOff = false
      this.#options.onWaiting()
      this.pump()
    })
    lane.signal.addEventListener('abort', cancel)
    this.#options.onWaiting()
  }
}
