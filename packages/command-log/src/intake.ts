import type { SourceRecord } from '@onceledger/core'
import { broken, type ChainBreak, verifyLast } from './chain.ts'
import type { PartitionLane } from './lane.ts'
import type { LaneReporter } from './lane-reporter.ts'
import type { LogControl } from './log-control.ts'
import type { CommandLogLogger, CommandLogMetrics } from './observer.ts'

/** The client resets a position that it cannot read on its own; so often is it put back before the partition counts as broken. */
const MISPLACED_MAX = 5

/** Records of one partition from one fetch. The offsets count whatever the client filtered out (transaction markers). */
export interface Delivery {
  readonly partition: number
  readonly firstOffset: bigint
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
      this.#evictWaiting()
      return false
    }
    if (delivery.firstOffset !== lane.fetchPosition && !(await this.#gapIsHole(lane, delivery))) return false
    lane.misplaced = 0
    lane.highWatermark = delivery.highWatermark
    if (lane.verifyDigest !== null && !(await this.#verify(lane, lane.verifyDigest, delivery))) return false
    this.#take(lane, delivery)
    return true
  }

  /** A gap is harmless only if nothing before the delivery was removed by retention: offsets may have holes. */
  async #gapIsHole(lane: PartitionLane, delivery: Delivery): Promise<boolean> {
    const expected = lane.fetchPosition
    const { low, high } = await this.#options.control.bounds(lane.partition)
    if (lane.fetchPosition !== expected || !canFetch(lane)) return false
    if (delivery.firstOffset > expected) {
      if (lane.phase === 'verifying' || low <= expected) return true
      return this.#break(lane, broken('LOST_BY_RETENTION', `offset ${expected} lies before the start ${low} of the log`))
    }
    if (expected > high) return this.#break(lane, broken('BEYOND_END', `offset ${expected} lies beyond the end ${high} of the log`))
    lane.misplaced += 1
    if (lane.misplaced > MISPLACED_MAX) {
      return this.#break(lane, broken('POSITION_UNREADABLE', `reading at ${expected} delivered ${delivery.firstOffset} again and again`))
    }
    this.#options.control.seek(lane.partition, expected)
    return false
  }

  async #verify(lane: PartitionLane, digest: Uint8Array, { records }: Delivery): Promise<boolean> {
    const first = records[0]
    if (first === undefined) return true
    const { position } = lane
    const low = first.position.offset === position - 1n ? null : (await this.#options.control.bounds(lane.partition)).low
    if (lane.phase !== 'verifying' || lane.position !== position) return false
    const verdict = verifyLast(position, digest, first, low)
    if (verdict !== null && typeof verdict !== 'string') return this.#break(lane, verdict)
    if (verdict !== null) this.#options.logger.warn(verdict, { partition: lane.partition })
    lane.verifyDigest = null
    lane.phase = 'running'
    this.#options.reporter.report(lane, 'running')
    return true
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

  #break(lane: PartitionLane, reason: ChainBreak): false {
    lane.phase = 'broken'
    lane.queue.clear()
    this.#pause([lane])
    this.#options.reporter.report(lane, 'broken', `${reason.code}: ${reason.reason}`)
    this.relieve()
    return false
  }

  /** A partition that waits must not hold the room that the others need: its records are dropped and fetched again later. */
  #evictWaiting(): void {
    for (const lane of this.#lanes.values()) {
      if (lane.phase !== 'running' || !lane.backingOff || lane.queue.length === 0) continue
      lane.queue.clear()
      lane.fetchPosition = lane.position
      this.#options.control.seek(lane.partition, lane.position)
    }
    this.relieve()
  }

  /** Lets paused partitions fetch again once their queues and the whole are well below the limits. */
  relieve(): void {
    this.#countQueued()
    const { limits, control } = this.#options
    if (this.queuedBytes() > (limits.maxQueuedBytes * 3) / 4) return
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
