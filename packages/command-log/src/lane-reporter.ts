import type { PartitionLane, PartitionState, PartitionStateName } from './lane.ts'
import type { CommandLogLogger } from './observer.ts'

/** Tells the outside what a partition does, once per change. */
export class LaneReporter {
  readonly #logger: CommandLogLogger
  readonly #onPartitionState: (partition: number, state: PartitionState) => void

  constructor(logger: CommandLogLogger, onPartitionState: (partition: number, state: PartitionState) => void) {
    this.#logger = logger
    this.#onPartitionState = onPartitionState
  }

  report(lane: PartitionLane, state: PartitionStateName, reason: string | null = null): void {
    if (lane.reported?.state === state && lane.reported.reason === reason) return
    lane.reported = { state, reason }
    const fields = { partition: lane.partition, position: lane.position, ...(reason === null ? {} : { reason }) }
    if (state === 'broken') this.#logger.error('partition broken', fields)
    else if (state === 'paused') this.#logger.warn('partition paused', fields)
    else this.#logger.debug(`partition ${state}`, fields)
    this.#onPartitionState(lane.partition, lane.reported)
  }
}
