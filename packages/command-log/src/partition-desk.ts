import { backoffMs } from './backoff.ts'
import { type BatchLimits, BatchRunner } from './batch-runner.ts'
import type { HandleOutcome, PartitionBatch } from './batch.ts'
import type { StartPosition } from './chain.ts'
import { type Delivery, Intake, type IntakeLimits } from './intake.ts'
import { type LanePhase, PartitionLane, type PartitionState } from './lane.ts'
import { LaneReporter } from './lane-reporter.ts'
import { LaneStarter } from './lane-starter.ts'
import type { LogControl } from './log-control.ts'
import type { CommandLogLogger, CommandLogMetrics } from './observer.ts'
import { pauseFor, type Timers } from './timers.ts'

export interface PartitionDeskOptions {
  readonly topic: string
  readonly limits: BatchLimits & IntakeLimits
  readonly startOf: (partition: number) => Promise<StartPosition>
  readonly handle: (batch: PartitionBatch, signal: AbortSignal) => Promise<HandleOutcome>
  readonly onPartitionState: (partition: number, state: PartitionState) => void
  readonly onFinished: (partition: number, nextOffset: bigint) => void
  readonly control: LogControl
  readonly logger: CommandLogLogger
  readonly metrics: CommandLogMetrics
  readonly timers: Timers
  readonly random: () => number
}

/** One assigned partition as numbers. Lag is high watermark less position, as of the last delivery or refresh. */
export interface PartitionStats {
  readonly partition: number
  readonly phase: LanePhase
  readonly reason: string | null
  readonly queuedRecords: number
  readonly queuedBytes: number
  readonly position: bigint
  readonly highWatermark: bigint
  readonly lag: bigint
}

/** The partitions of the current assignment and their way from fetched records to finished batches. Knows nothing of Kafka. */
export class PartitionDesk {
  readonly #options: PartitionDeskOptions
  readonly #reporter: LaneReporter
  readonly #intake: Intake
  readonly #runner: BatchRunner
  readonly #starter: LaneStarter
  #lanes: ReadonlyMap<number, PartitionLane> = new Map()

  constructor(options: PartitionDeskOptions) {
    this.#options = options
    this.#reporter = new LaneReporter(options.logger, options.onPartitionState)
    this.#intake = new Intake({ ...options, reporter: this.#reporter, onDoubt: (lane) => this.#replace(lane, null) })
    this.#runner = new BatchRunner({
      ...options,
      reporter: this.#reporter,
      onDone: (lane) => {
        this.#intake.relieve()
        options.onFinished(lane.partition, lane.position)
      },
      onWaiting: () => this.#intake.relieve(),
      onSeek: (lane, { nextOffset, lastDigest }) => this.#replace(lane, { kind: 'applied', nextOffset, lastDigest }),
    })
    this.#starter = new LaneStarter({ ...options, reporter: this.#reporter, idle: (partition) => this.#runner.idle(partition) })
  }

  /**
   * Replaces the assignment. Every partition starts afresh, those kept too: another member may have had it in between, and the
   * database knows better. A batch in flight of a kept partition runs to its end first; of a lost one it is interrupted.
   */
  assign(partitions: readonly number[]): void {
    const kept = new Set(partitions)
    for (const lane of this.#lanes.values()) {
      lane.revoke(!kept.has(lane.partition))
      if (!kept.has(lane.partition)) this.#reporter.report(lane, 'revoked')
    }
    this.#lanes = new Map(partitions.map((partition) => [partition, new PartitionLane(partition)]))
    this.#options.control.pause(partitions)
    this.#intake.assign(this.#lanes)
    this.#runner.assign([...this.#lanes.values()])
    for (const lane of this.#lanes.values()) {
      this.#reporter.report(lane, 'assigned')
      void this.#start(lane, null)
    }
  }

  /**
   * No new batch begins before the next assignment; those in flight go on.
   * @param reason told for every partition that could have gone on, or null when an assignment follows at once.
   */
  suspend(reason: string | null): void {
    this.#runner.suspend()
    if (reason === null) return
    for (const lane of this.#lanes.values()) {
      if (lane.phase !== 'broken') this.#reporter.report(lane, 'paused', reason)
    }
  }

  /** Starts a partition again from the word of `startOf`; a batch in flight ends first. Nothing happens unless it is running. */
  restart(partition: number): void {
    const lane = this.#lanes.get(partition)
    if (lane?.phase === 'running') this.#replace(lane, null)
  }

  /** Something happened to the log unseen: no position is believed before its chain was checked again. */
  restartAll(): void {
    for (const partition of this.#lanes.keys()) this.restart(partition)
  }

  drained(): Promise<void> {
    return this.#runner.drained()
  }

  /** @returns whether the client may fetch on; see Intake.accept. */
  async accept(delivery: Delivery): Promise<boolean> {
    const accepted = await this.#intake.accept(delivery)
    if (accepted) this.#runner.pump()
    return accepted
  }

  partitions(): number[] {
    return [...this.#lanes.keys()]
  }

  stats(): PartitionStats[] {
    return [...this.#lanes.values()].map((lane) => ({
      partition: lane.partition,
      phase: lane.phase,
      reason: lane.reported?.reason ?? null,
      queuedRecords: lane.queue.length,
      queuedBytes: lane.queue.sizeBytes,
      position: lane.position,
      highWatermark: lane.highWatermark,
      lag: lane.highWatermark > lane.position ? lane.highWatermark - lane.position : 0n,
    }))
  }

  /** Asks the log for its ends, so that the lag of a paused partition stays true and lost records are noticed. */
  async refreshBounds(): Promise<void> {
    await Promise.all(
      [...this.#lanes.values()].map(async (lane) => {
        const { fetchPosition } = lane
        this.#intake.noteBounds(lane, await this.#options.control.bounds(lane.partition), fetchPosition)
      }),
    )
  }

  async #start(lane: PartitionLane, known: StartPosition | null): Promise<void> {
    await this.#starter.start(lane, known)
    this.#runner.pump()
  }

  /** The database stands elsewhere: what is queued is dropped and the lane starts again there. */
  #replace(lane: PartitionLane, start: StartPosition | null): void {
    lane.phase = 'starting'
    // Whoever waits for it to run hears of it again.
    lane.reported = null
    lane.queue.clear()
    lane.fetchPaused = true
    this.#options.control.pause([lane.partition])
    this.#intake.relieve()
    this.#options.logger.warn('partition seeks to the position of the database', { partition: lane.partition, from: lane.position })
    void this.#seekLater(lane, start)
  }

  /** Twice in a row may be a race with another process; more often, it waits between. */
  async #seekLater(lane: PartitionLane, start: StartPosition | null): Promise<void> {
    if (lane.failures > 2) {
      this.#reporter.report(lane, 'paused', `the database moved the position ${lane.failures} times in a row`)
      await pauseFor(this.#options.timers, backoffMs(lane.failures, this.#options.random), lane.signal)
    }
    await this.#start(lane, start)
  }
}
