export interface ParkingLimit {
  /** Messages of one partition that may be parked within the window. */
  readonly messages: number
  readonly windowMs: number
}

/**
 * Counts what each partition parks, and stops one that parks too much: a fault of this release or of a sender must not empty the topic into the
 * parking table (ADJ-10). A stopped partition stays so until the process is started again.
 */
export class ParkingWindow {
  readonly #limit: ParkingLimit
  readonly #nowMs: () => number
  readonly #parked = new Map<number, { readonly atMs: number; readonly messages: number }[]>()
  readonly #stopped = new Map<number, string>()

  constructor(limit: ParkingLimit, nowMs: () => number) {
    this.#limit = limit
    this.#nowMs = nowMs
  }

  /** Whether the partition may park so many more; a no stops it. */
  mayPark(partition: number, messages: number): boolean {
    if (this.#stopped.has(partition)) return false
    const lately = this.#lately(partition).reduce((sum, each) => sum + each.messages, 0)
    if (lately + messages <= this.#limit.messages) return true
    this.#stopped.set(
      partition,
      `PARKING_STORM: ${lately} messages parked and ${messages} more to park within ${this.#limit.windowMs} ms, more than ${this.#limit.messages}; ` +
        'nothing is lost. Find the cause (ledgerctl parked groups), then start the process again or raise ONCELEDGER_PARKED_MAX',
    )
    return false
  }

  /** So many were parked, committed. */
  parked(partition: number, messages: number): void {
    if (messages > 0) this.#lately(partition).push({ atMs: this.#nowMs(), messages })
  }

  /** Why the partition was stopped, or null. */
  stoppedFor(partition: number): string | null {
    return this.#stopped.get(partition) ?? null
  }

  #lately(partition: number): { readonly atMs: number; readonly messages: number }[] {
    const sinceMs = this.#nowMs() - this.#limit.windowMs
    const lately = (this.#parked.get(partition) ?? []).filter(({ atMs }) => atMs > sinceMs)
    this.#parked.set(partition, lately)
    return lately
  }
}
