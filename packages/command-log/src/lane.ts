import { RecordQueue } from './record-queue.ts'

/** What an assigned partition is doing, as it is told to the outside. */
export type PartitionStateName = 'assigned' | 'running' | 'paused' | 'broken' | 'revoked'

export interface PartitionState {
  readonly state: PartitionStateName
  readonly reason: string | null
}

/**
 * starting: its position is being asked for; verifying: the record before the position is awaited; running: records are handed
 * out; broken: the log does not continue the database; revoked: another assignment replaced this one.
 */
export type LanePhase = 'starting' | 'verifying' | 'running' | 'broken' | 'revoked'

/** One partition in one assignment. A new assignment makes new lanes, so nothing of an old one can be handed out by mistake. */
export class PartitionLane {
  readonly partition: number
  readonly queue = new RecordQueue()
  phase: LanePhase = 'starting'
  /** The next offset to hand out, once it is known. */
  position = 0n
  /** The next offset that the broker is to deliver. */
  fetchPosition = 0n
  verifyDigest: Uint8Array | null = null
  highWatermark = 0n
  fetchPaused = true
  backingOff = false
  /** Calls of the handler in a row that finished nothing. */
  failures = 0
  /** Deliveries in a row that began elsewhere than expected. */
  misplaced = 0
  reported: PartitionState | null = null
  readonly #abort = new AbortController()

  constructor(partition: number) {
    this.partition = partition
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get isRevoked(): boolean {
    return this.phase === 'revoked'
  }

  /** @param interrupt whether a batch in flight is told to stop; its outcome is ignored either way. */
  revoke(interrupt: boolean): void {
    this.phase = 'revoked'
    this.queue.clear()
    if (interrupt) this.#abort.abort(new Error(`partition ${this.partition} was revoked`))
  }
}
