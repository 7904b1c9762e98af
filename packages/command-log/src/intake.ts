import type { SourceRecord } from '@onceledger/core'
import { broken, type ChainBreak, type LogBounds, verifyLast } from './chain.ts'
import type { PartitionLane } from './lane.ts'
import type { LaneReporter } from './lane-reporter.ts'
import type { LogControl } from './log-control.ts'
import type { CommandLogLogger, CommandLogMetrics } from './observer.ts'

/** The client resets a position that it cannot read on its own; so often does its partition start again before it counts as broken. */
const MISPLACED_MAX = 5

/** Records of one partition from one fetch. lastOffset counts whatever the client filtered out (transaction markers). */
export interface Delivery {
  readonly partition: number
  /** The offset that the fetch asked for: it tells an answer to this lane's question from one to an older. */
  readonly fetchedOffset: bigint
  readonly lastOffset: bigint
  readonly highWatermark: bigint
  readonly records: readonly SourceRecord[]
}

export interface IntakeLimits {
  /** Records of one partition at which its fetching pauses. One fetch more may follow. */
  readonly maxQueuedRecords: number
  /** Bytes of all partitions at which all fetching pauses. */
  readonly maxQueuedBytes: number
}

export interface IntakeOptions {
  readonly limits: IntakeLimits
  readonly control: LogControl
  /** The position of a lane is not to be trusted any more: it starts again from the word of `startOf`, and the chain is checked. */
  readonly onDoubt: (lane: PartitionLane) => void
  readonly reporter: LaneReporter
  readonly logger: CommandLogLogger
  readonly metrics: CommandLogMetrics
}

/** Takes what the client fetched into the lanes' queues, in order and within the limits. */
export class Intake {
  readonly #options: IntakeOptions
  #lanes: ReadonlyMap<number, PartitionLane> = new Map()

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  assign(lanes: ReadonlyMap<number, PartitionLane>): void {
    this.#lanes = lanes
  }

  /**
   * @returns true if the client may fetch on after the delivery; false if it must be fetched again: it came for an old assignment,
   * from another place than expected, or there was no room.
   */
  async accept(delivery: Delivery): Promise<boolean> {
    const lane = this.#lanes.get(delivery.partition)
    if (lane === undefined || !canFetch(lane)) return false
    if (this.queuedBytes() >= this.#options.limits.maxQueuedBytes) {
      this.#pauseAll()
      this.relieve()
      return false
    }
    if (delivery.fetchedOffset !== lane.fetchPosition) {
      await this.#distrust(lane, delivery)
      return false
    }
    lane.misplaced = 0
    lane.highWatermark = delivery.highWatermark
    if (lane.verifyDigest !== null && !this.#verify(lane, lane.verifyDigest, delivery)) return false
    this.#take(lane, delivery)
    return true
  }

  /**
   * The delivery answers another question: it was fetched before a seek, or the client could not read the position and took another
   * on its own. It is never taken, not even when it lies ahead: that would skip records. Nor is the old position read on from, although the log may reach it
   * again by now: in a topic that was created anew it is a place among other records.
   */
  async #distrust(lane: PartitionLane, delivery: Delivery): Promise<void> {
    const expected = lane.fetchPosition
    const { low, high } = await this.#options.control.bounds(lane.partition)
    if (lane.fetchPosition !== expected || !canFetch(lane)) return
    const isBeforeUnread = lane.phase === 'verifying' && low === lane.position
    if (expected < low && !isBeforeUnread) {
      return this.#break(lane, broken('LOST_BY_RETENTION', `offset ${expected} lies before the start ${low} of the log`))
    }
    if (expected > high) {
      return this.#break(lane, broken('BEYOND_END', `offset ${expected} lies beyond the end ${high} of the log`))
    }
    lane.misplaced += 1
    if (lane.misplaced > MISPLACED_MAX) {
      const reason = `reading at ${expected} was answered from ${delivery.fetchedOffset}, ${lane.misplaced} times in a row`
      return this.#break(lane, broken('POSITION_UNREADABLE', reason))
    }
    this.#options.onDoubt(lane)
  }

  /**
   * A partition that fell behind retention, or whose log became shorter, is told even when nothing more arrives.
   * @param fetchedBefore the lane's next offset to fetch, as it was before the bounds were asked for.
   */
  noteBounds(lane: PartitionLane, { low, high }: LogBounds, fetchedBefore: bigint): void {
    if (!canFetch(lane)) return
    lane.highWatermark = high
    if (high < fetchedBefore) return this.#options.onDoubt(lane)
    if (low > lane.fetchPosition && low !== lane.position) {
      this.#break(lane, broken('LOST_BY_RETENTION', `offset ${lane.fetchPosition} lies before the start ${low} of the log`))
    }
  }

  #verify(lane: PartitionLane, digest: Uint8Array, { records }: Delivery): boolean {
    const first = records[0]
    if (first === undefined) return true
    const verdict = verifyLast(lane.position, digest, first)
    if (verdict !== null) {
      this.#break(lane, verdict)
      return false
    }
    this.#run(lane)
    return true
  }

  #run(lane: PartitionLane): void {
    lane.verifyDigest = null
    lane.phase = 'running'
    this.#options.reporter.report(lane, 'running')
  }

  #take(lane: PartitionLane, delivery: Delivery): void {
    const before = lane.queue.sizeBytes
    const first = delivery.records[0]
    const alreadyApplied = first !== undefined && first.position.offset < lane.position
    lane.queue.push(alreadyApplied ? delivery.records.filter(({ position }) => position.offset >= lane.position) : delivery.records)
    lane.fetchPosition = delivery.lastOffset + 1n
    this.#options.metrics.recordsReceived(lane.partition, delivery.records.length, lane.queue.sizeBytes - before)
    if (lane.queue.length >= this.#options.limits.maxQueuedRecords) this.#pause([lane])
    if (this.queuedBytes() >= this.#options.limits.maxQueuedBytes) this.#pauseAll()
    this.#countQueued()
  }

  #break(lane: PartitionLane, reason: ChainBreak): void {
    lane.phase = 'broken'
    lane.queue.clear()
    this.#pause([lane])
    this.#options.reporter.report(lane, 'broken', `${reason.code}: ${reason.reason}`)
    this.relieve()
  }

  /** A partition that waits must not hold the room that the others need: its records are dropped and fetched again later. */
  #evictWaiting(): void {
    for (const lane of this.#lanes.values()) {
      if (lane.phase !== 'running' || !lane.backingOff || lane.queue.length === 0) continue
      lane.queue.clear()
      lane.fetchPosition = lane.position
      this.#pause([lane])
      this.#options.control.seek(lane.partition, lane.position)
    }
  }

  /**
   * Lets paused partitions fetch again once their queues and the whole are well below the limits. To be called whenever a queue
   * shrank or a partition began or ended to wait.
   */
  relieve(): void {
    const { limits, control } = this.#options
    const enoughBytes = (limits.maxQueuedBytes * 3) / 4
    if (this.queuedBytes() > enoughBytes) this.#evictWaiting()
    this.#countQueued()
    if (this.queuedBytes() > enoughBytes) return
    const resumable = [...this.#lanes.values()].filter(
      (lane) => lane.fetchPaused && !lane.backingOff && canFetch(lane) && lane.queue.length <= limits.maxQueuedRecords / 2,
    )
    if (resumable.length === 0) return
    for (const lane of resumable) lane.fetchPaused = false
    control.resume(resumable.map(({ partition }) => partition))
  }

  queuedBytes(): number {
    let sizeBytes = 0
    for (const lane of this.#lanes.values()) sizeBytes += lane.queue.sizeBytes
    return sizeBytes
  }

  #pauseAll(): void {
    this.#pause([...this.#lanes.values()])
  }

  #pause(lanes: readonly PartitionLane[]): void {
    const open = lanes.filter((lane) => !lane.fetchPaused)
    if (open.length === 0) return
    for (const lane of open) lane.fetchPaused = true
    this.#options.control.pause(open.map(({ partition }) => partition))
  }

  #countQueued(): void {
    let records = 0
    for (const lane of this.#lanes.values()) records += lane.queue.length
    this.#options.metrics.queueChanged(records, this.queuedBytes())
  }
}

function canFetch(lane: PartitionLane): boolean {
  return lane.phase === 'running' || lane.phase === 'verifying'
}
