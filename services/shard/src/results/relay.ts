import type { ResultProducer } from '@onceledger/command-log'
import type { PublishedResults } from '@onceledger/ledger-store'
import { sleep } from '@onceledger/runtime'
import type { PackedResults } from './packed-results.ts'

export const RELAY_FAILPOINTS = ['results.before-publish', 'results.after-publish'] as const
type RelayFailpoint = (typeof RELAY_FAILPOINTS)[number]

/** Results of one committed transaction, in the order in which they are to be seen. */
export interface ResultBatch {
  readonly results: PackedResults
  /** Once they are acknowledged, so are all results of messages before this offset; 0 where that does not change. */
  readonly publishedTo: bigint
}

export interface RelayOptions {
  readonly producer: Pick<ResultProducer, 'send'>
  readonly topic: string
  readonly failpoints: { hit(name: RelayFailpoint): void | Promise<void> }
  readonly random: () => number
  /** Null while the topic takes results, else why it does not. */
  readonly onState: (fault: string | null) => void
  readonly onPublished: (results: number) => void
  readonly onPending: (results: number) => void
}

/** Results waiting in this process; past it the partitions wait. Those of a crashed process are derived again. */
const PENDING_MAX = 8_000
const SEND_MAX = 4_000
const RETRY_BASE_MS = 100
const RETRY_MAX_MS = 5_000

interface Queued extends ResultBatch {
  readonly partition: number
  readonly generation: number
}

/** What was acknowledged of one partition and is not remembered by the database yet. */
interface Acknowledged {
  nextOffset: bigint
  outbox: bigint[]
}

/**
 * Publishes results after their commit: of each partition in the order of its commits, at least once. What is acknowledged is remembered by the
 * database with the partition's next transaction; until then a crash makes the next owner publish it again under the same ids.
 */
export class ResultRelay {
  readonly #options: RelayOptions
  readonly #abort = new AbortController()
  readonly #generations = new Map<number, number>()
  readonly #acknowledged = new Map<number, Acknowledged>()
  #queue: Queued[] = []
  #pending = 0
  #pumping: Promise<void> | null = null
  #room: PromiseWithResolvers<void> | null = null

  constructor(options: RelayOptions) {
    this.#options = options
  }

  get pending(): number {
    return this.#pending
  }

  /** Adds what a transaction of the partition committed. Transactions of one partition must be added in the order of their commits. */
  enqueue(partition: number, batch: ResultBatch): void {
    this.#queue.push({ ...batch, partition, generation: this.#generations.get(partition) ?? 0 })
    this.#setPending(this.#pending + batch.results.count)
    this.#startPump()
  }

  /** Whether there is room for another batch; waits for it no longer than the time. */
  async room(timeoutMs: number): Promise<boolean> {
    if (this.#pending < PENDING_MAX) return true
    this.#room ??= Promise.withResolvers<void>()
    await Promise.race([this.#room.promise, sleep(timeoutMs)])
    return this.#pending < PENDING_MAX
  }

  /** What the partition's next transaction should remember, or undefined. Tell `remembered` once it committed. */
  published(partition: number): PublishedResults | undefined {
    const acknowledged = this.#acknowledged.get(partition)
    return acknowledged === undefined ? undefined : { nextOffset: acknowledged.nextOffset, outbox: [...acknowledged.outbox] }
  }

  remembered(partition: number, published: PublishedResults | undefined): void {
    const acknowledged = this.#acknowledged.get(partition)
    if (published === undefined || acknowledged === undefined) return
    acknowledged.outbox.splice(0, published.outbox.length)
    if (acknowledged.outbox.length === 0 && acknowledged.nextOffset === published.nextOffset) this.#acknowledged.delete(partition)
  }

  /** Partitions of which something was acknowledged that the database does not remember. */
  unremembered(): number[] {
    return [...this.#acknowledged.keys()]
  }

  /** The partition is no longer this process's, or starts again: what was not sent is its next owner's to derive. */
  forget(partition: number): void {
    this.#generations.set(partition, (this.#generations.get(partition) ?? 0) + 1)
    this.#acknowledged.delete(partition)
    const kept = this.#queue.filter((batch) => batch.partition !== partition)
    if (kept.length === this.#queue.length) return
    const dropped = this.#queue.reduce((sum, batch) => sum + (batch.partition === partition ? batch.results.count : 0), 0)
    this.#queue = kept
    this.#setPending(this.#pending - dropped)
  }

  /** Resolves when everything that was added is acknowledged, or given up by `stop`. */
  async drained(): Promise<void> {
    while (this.#pumping !== null) await this.#pumping
  }

  /** Ends the retries. */
  stop(): void {
    this.#abort.abort(new Error('the relay was stopped'))
  }

  #startPump(): void {
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = null
      // Something may have been added after the last look at the queue.
      if (this.#queue.length > 0 && !this.#abort.signal.aborted) this.#startPump()
    })
  }

  async #pump(): Promise<void> {
    while (this.#queue.length > 0 && !this.#abort.signal.aborted) {
      const taken = this.#take()
      if (!(await this.#sendAll(taken))) return
      for (const batch of taken) this.#acknowledge(batch)
      this.#setPending(this.#pending - taken.reduce((sum, { results }) => sum + results.count, 0))
    }
  }

  /** Whole transactions, so that what is acknowledged has an offset. */
  #take(): Queued[] {
    let count = 0
    let results = 0
    for (const batch of this.#queue) {
      if (count > 0 && results + batch.results.count > SEND_MAX) break
      results += batch.results.count
      count++
    }
    return this.#queue.splice(0, count)
  }

  /** Tries until the topic takes them or the relay is stopped: results wait, and with them the partitions, but nothing is dropped. */
  async #sendAll(batches: readonly Queued[]): Promise<boolean> {
    const records = batches.flatMap(({ partition, results }) => results.records(partition))
    const { failpoints, onState, onPublished, random } = this.#options
    for (let failures = 0; !this.#abort.signal.aborted; failures++) {
      try {
        await failpoints.hit('results.before-publish')
        if (records.length > 0) await this.#options.producer.send(this.#options.topic, records)
        await failpoints.hit('results.after-publish')
        onState(null)
        onPublished(records.length)
        return true
      } catch (error) {
        onState(error instanceof Error ? error.message : String(error))
        const delayMs = (0.5 + random() / 2) * Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** Math.min(failures, 10))
        await sleep(delayMs, this.#abort.signal).catch(() => undefined)
      }
    }
    return false
  }

  #acknowledge({ partition, generation, publishedTo, results }: Queued): void {
    if ((this.#generations.get(partition) ?? 0) !== generation) return
    const { outbox } = results
    const known = this.#acknowledged.get(partition)
    if (known === undefined) this.#acknowledged.set(partition, { nextOffset: publishedTo, outbox: [...outbox] })
    else {
      if (publishedTo > known.nextOffset) known.nextOffset = publishedTo
      known.outbox.push(...outbox)
    }
  }

  #setPending(results: number): void {
    this.#pending = results
    this.#options.onPending(results)
    if (results >= PENDING_MAX || this.#room === null) return
    this.#room.resolve()
    this.#room = null
  }
}
