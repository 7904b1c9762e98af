import { backoffMs } from './backoff.ts'
import { planStart, type StartPlan, type StartPosition } from './chain.ts'
import { describeError } from './errors.ts'
import type { PartitionLane } from './lane.ts'
import type { LaneReporter } from './lane-reporter.ts'
import type { LogControl } from './log-control.ts'
import type { CommandLogLogger } from './observer.ts'
import { pauseFor, type Timers } from './timers.ts'

/** A new leader may know a lower end for a moment, so a position beyond the end is believed only when it stays there. */
const BEYOND_END_CHECKS = 3
const BEYOND_END_DELAY_MS = 1000

export interface LaneStarterOptions {
  readonly startOf: (partition: number) => Promise<StartPosition>
  /** Resolves once no batch of the partition is in flight any more. */
  readonly idle: (partition: number) => Promise<void>
  readonly control: LogControl
  readonly reporter: LaneReporter
  readonly logger: CommandLogLogger
  readonly timers: Timers
  readonly random: () => number
}

/** Brings a lane from its assignment to reading at the right place. */
export class LaneStarter {
  readonly #options: LaneStarterOptions

  constructor(options: LaneStarterOptions) {
    this.#options = options
  }

  /**
   * Asks where to start until there is an answer or the lane is revoked. The delay between attempts is bounded, their number is not: an
   * infrastructure that is away pauses the partition and never skips it.
   * @param known a position already given (after a seek), so that it need not be asked for.
   */
  async start(lane: PartitionLane, known: StartPosition | null = null): Promise<void> {
    const { reporter, timers, random, idle } = this.#options
    for (let failures = 1; ; failures++) {
      try {
        await idle(lane.partition)
        if (lane.isRevoked) return
        this.#begin(lane, await this.#plan(lane, known))
        return
      } catch (error) {
        // Whatever failed (database, broker), nothing was read yet: trying again is always right.
        if (lane.isRevoked) return
        reporter.report(lane, 'paused', `start position unknown: ${describeError(error)}`)
        await pauseFor(timers, backoffMs(failures, random), lane.signal)
      }
    }
  }

  async #plan(lane: PartitionLane, known: StartPosition | null): Promise<StartPlan> {
    const { startOf, control, timers } = this.#options
    const start = known ?? (await startOf(lane.partition))
    const groupOffset = start.kind === 'group-offset' ? await control.groupOffset(lane.partition) : null
    for (let check = 1; ; check++) {
      const bounds = await control.bounds(lane.partition)
      lane.highWatermark = bounds.high
      const plan = planStart(start, bounds, groupOffset)
      if (plan.kind !== 'broken' || plan.code !== 'BEYOND_END' || check === BEYOND_END_CHECKS || lane.isRevoked) return plan
      await pauseFor(timers, BEYOND_END_DELAY_MS, lane.signal)
    }
  }

  #begin(lane: PartitionLane, plan: StartPlan): void {
    if (lane.isRevoked) return
    const { control, reporter, logger } = this.#options
    if (plan.kind === 'broken') {
      lane.phase = 'broken'
      reporter.report(lane, 'broken', `${plan.code}: ${plan.reason}`)
      return
    }
    if (plan.warning !== null) logger.warn(plan.warning, { partition: lane.partition })
    lane.position = plan.position
    lane.fetchPosition = plan.fetchFrom
    lane.verifyDigest = plan.verifyDigest
    lane.phase = plan.verifyDigest === null ? 'running' : 'verifying'
    lane.fetchPaused = false
    control.seek(lane.partition, plan.fetchFrom)
    control.resume([lane.partition])
    if (lane.phase === 'running') reporter.report(lane, 'running')
  }
}
