/** One piece of work at a time for each partition, in the order of asking. */
export class PartitionTurns {
  readonly #last = new Map<number, Promise<unknown>>()

  async run<T>(partition: number, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(partition)
    const mine = (before ?? Promise.resolve()).then(work)
    const settled = mine.catch(() => undefined)
    this.#last.set(partition, settled)
    try {
      return await mine
    } finally {
      if (this.#last.get(partition) === settled) this.#last.delete(partition)
    }
  }
}
