import type { CommandConsumer } from '@onceledger/command-log'
import { type BatchContext, sweepPartition } from '@onceledger/ledger-store'
import type { Logger } from '@onceledger/runtime'
import type { ParkingWindow } from './parking-window.ts'
import { packResults } from './partition-handler.ts'
import type { ResultRelay } from './results/relay.ts'
import type { PartitionTurns } from './turns.ts'

export interface SweeperOptions {
  readonly context: BatchContext
  readonly topic: string
  readonly consumer: Pick<CommandConsumer, 'stats'>
  readonly turns: PartitionTurns
  readonly relay: Pick<ResultRelay, 'published' | 'remembered' | 'enqueue' | 'unremembered'> | null
  /** A partition whose earlier results are still being derived is left alone, so that the order of results stands. */
  readonly isBehind: (partition: number) => boolean
  readonly parking: Pick<ParkingWindow, 'parked' | 'stoppedFor'>
  readonly nowMs: () => number
  readonly log: Logger
}

const TICK_MS = 500
/** A partition that nothing asks for is looked at this often: for commands that waited too long. */
const IDLE_SWEEP_MS = 30_000
/** Acknowledgements that no batch took along are remembered after this long. */
const REMEMBER_AFTER_MS = 2_000

/** Sweeps the partitions that this process runs: what a bounded transaction left over soon, everything now and then. */
export class Sweeper {
  readonly #options: SweeperOptions
  readonly #soon = new Set<number>()
  readonly #sweptAtMs = new Map<number, number>()
  readonly #batchAtMs = new Map<number, number>()
  #running: Promise<void> | null = null

  constructor(options: SweeperOptions) {
    this.#options = options
  }

  /** A batch committed; with `more`, commands whose turn it is still wait. */
  batchCommitted(partition: number, more: boolean): void {
    this.#batchAtMs.set(partition, this.#options.nowMs())
    if (more) this.#soon.add(partition)
  }

  /** @returns what ends it, once no sweep is under way. */
  start(): () => Promise<void> {
    const timer = setInterval(() => {
      this.#running ??= this.#tick().finally(() => {
        this.#running = null
      })
    }, TICK_MS)
    return async () => {
      clearInterval(timer)
      await this.#running
    }
  }

  /** Remembers what was acknowledged of every partition: the last thing before the end. */
  async rememberAll(): Promise<void> {
    for (const partition of this.#options.relay?.unremembered() ?? []) await this.#sweep(partition)
  }

  async #tick(): Promise<void> {
    for (const { partition, phase } of this.#options.consumer.stats())
      if (phase === 'running' && this.#isDue(partition)) await this.#sweep(partition)
  }

  #isDue(partition: number): boolean {
    const { nowMs, relay, parking, isBehind } = this.#options
    if (parking.stoppedFor(partition) !== null || isBehind(partition)) return false
    if (this.#soon.has(partition)) return true
    const nowAtMs = nowMs()
    const quietMs = nowAtMs - Math.max(this.#batchAtMs.get(partition) ?? 0, this.#sweptAtMs.get(partition) ?? 0)
    if (quietMs >= REMEMBER_AFTER_MS && relay?.published(partition) !== undefined) return true
    return nowAtMs - (this.#sweptAtMs.get(partition) ?? 0) >= IDLE_SWEEP_MS
  }

  /** A sweep that fails has done nothing, or everything; the next one finds out. */
  async #sweep(partition: number): Promise<void> {
    const { turns, log, nowMs } = this.#options
    try {
      await turns.run(partition, () => this.#sweepNow(partition))
    } catch (error) {
      log.warn({ partition, error: String(error) }, 'a sweep failed and will be tried again')
    }
    this.#sweptAtMs.set(partition, nowMs())
  }

  async #sweepNow(partition: number): Promise<void> {
    const { context, topic, relay, parking } = this.#options
    const published = relay?.published(partition)
    const outcome = await sweepPartition(context, { topic, partition, ...(published === undefined ? {} : { published }) })
    this.#soon.delete(partition)
    if (outcome.kind !== 'swept') return
    relay?.remembered(partition, published)
    if (outcome.results.length > 0) relay?.enqueue(partition, { results: packResults(outcome.results), publishedTo: 0n })
    parking.parked(partition, outcome.parked)
    if (outcome.more) this.#soon.add(partition)
  }
}
