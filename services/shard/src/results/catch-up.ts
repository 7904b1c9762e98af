import type { HandleOutcome, PartitionBatch } from '@onceledger/command-log'
import { type ContractRegistry, decodeRecord, recordDigest } from '@onceledger/core'
import {
  type AppliedOffset,
  type BatchItem,
  type DeriveContext,
  type DerivedResult,
  deriveResults,
  loadOutbox,
} from '@onceledger/ledger-store'
import { bucketOfKey } from '@onceledger/shard-map'
import { PackedResults } from './packed-results.ts'
import type { ResultRelay } from './relay.ts'

export interface CatchUpOptions extends DeriveContext {
  readonly topic: string
  readonly bucketCount: number
  readonly relay: Pick<ResultRelay, 'enqueue'>
  /** Where the log of a partition begins. */
  readonly logStart: (partition: number) => Promise<bigint>
  /** Starts a partition anew: it then reads from its published offset. */
  readonly restart: (partition: number) => void
  /** Results that nothing stored tells any more. */
  readonly onUnknown: (partition: number, messages: number) => void
}

/**
 * `verify`: the log is first held against the database as ever; `verified`: it was. `read`: messages before `nextOffset` are read again for their
 * results; `lastDigest` is that of the last of them.
 */
type Phase =
  | { readonly kind: 'verify' }
  | { readonly kind: 'verified' }
  | { readonly kind: 'read'; readonly nextOffset: bigint; readonly lastDigest: Buffer | null }

/**
 * After a crash, the results between a partition's published and its applied offset: the messages are read again, and instead of being judged their
 * results are derived from what is stored. Until that is done nothing new of the partition is judged, so the order of results stands.
 */
export class ResultCatchUp {
  readonly #options: CatchUpOptions
  readonly #phases = new Map<number, Phase>()

  constructor(options: CatchUpOptions) {
    this.#options = options
  }

  /** Where a partition that has this position in the database is to be read from. */
  async startOf(partition: number, applied: AppliedOffset): Promise<AppliedOffset> {
    const phase = this.#phases.get(partition)
    if (applied.publishedOffset >= applied.nextOffset) {
      this.#phases.delete(partition)
      await this.#publishOutbox(partition, 0n)
      return applied
    }
    // A start that failed half way has verified nothing, so it is made again.
    if (phase?.kind !== 'verified') {
      this.#phases.set(partition, { kind: 'verify' })
      return applied
    }
    const logStart = await this.#options.logStart(partition)
    if (logStart >= applied.nextOffset) {
      // The log has lost the messages, and with them what could be told of them.
      this.#phases.delete(partition)
      this.#options.onUnknown(partition, Number(applied.nextOffset - applied.publishedOffset))
      await this.#publishOutbox(partition, applied.nextOffset)
      return applied
    }
    this.#phases.set(partition, { kind: 'read', nextOffset: applied.nextOffset, lastDigest: applied.lastDigest })
    const nextOffset = applied.publishedOffset > logStart ? applied.publishedOffset : logStart
    return { nextOffset, lastDigest: null, publishedOffset: nextOffset }
  }

  /** The partition runs: the log was found to continue the database, so it may be read from before. */
  running(partition: number): void {
    if (this.#phases.get(partition)?.kind !== 'verify') return
    this.#phases.set(partition, { kind: 'verified' })
    this.#options.restart(partition)
  }

  /** The partition is another process's now. */
  forget(partition: number): void {
    this.#phases.delete(partition)
  }

  /** Whether results of earlier messages of the partition come first. */
  isBehind(partition: number): boolean {
    return this.#phases.has(partition)
  }

  /** What becomes of a batch whose results may have to be derived, or null where it is to be judged. */
  async handle(batch: PartitionBatch): Promise<HandleOutcome | null> {
    const phase = this.#phases.get(batch.partition)
    if (phase === undefined) return null
    // A batch is handed out only once the log was found to continue the database.
    if (phase.kind === 'verify') this.running(batch.partition)
    if (phase.kind !== 'read') return { kind: 'pause', retryAfterMs: RESTART_SOON_MS, reason: 'results of earlier messages come first' }
    return this.#derive(batch, phase)
  }

  async #derive(batch: PartitionBatch, { nextOffset, lastDigest }: Phase & { kind: 'read' }): Promise<HandleOutcome> {
    const { topic, registry, bucketCount, relay, onUnknown } = this.#options
    const records = batch.records.filter(({ position }) => position.offset < nextOffset)
    const whole = records.length < batch.records.length || (records.at(-1)?.position.offset ?? -1n) + 1n >= nextOffset
    const to = whole ? nextOffset : (records.at(-1)?.position.offset ?? batch.expectedOffset) + 1n
    const last = records.at(-1)
    if (last?.position.offset === nextOffset - 1n && lastDigest !== null && !recordDigest(last).equals(lastDigest)) {
      // Another topic since it was verified: the start finds that out and says so.
      this.#phases.delete(batch.partition)
      return { kind: 'seek', nextOffset, lastDigest }
    }
    const items = records.map((record): BatchItem => decode(record, registry, bucketCount))
    const reach = { from: batch.expectedOffset, to, last: whole }
    const { results, unknown } = await deriveResults(this.#options, { topic, partition: batch.partition }, items, reach)
    if (unknown.length > 0) onUnknown(batch.partition, unknown.length)
    relay.enqueue(batch.partition, { results: packDerived(results), publishedTo: to })
    if (whole) this.#phases.delete(batch.partition)
    return { kind: 'done', nextOffset: to }
  }

  /** All but what waited was published: what is left of the outbox comes before the next message. */
  async #publishOutbox(partition: number, publishedTo: bigint): Promise<void> {
    const { database, topic, relay } = this.#options
    const results = await loadOutbox(database, { topic, partition })
    if (results.length > 0 || publishedTo > 0n) relay.enqueue(partition, { results: packDerived(results), publishedTo })
  }
}

function packDerived(results: readonly DerivedResult[]): PackedResults {
  return PackedResults.of(
    results,
    (result) => result,
    ({ outboxOf }) => outboxOf,
  )
}

const RESTART_SOON_MS = 200

function decode(record: PartitionBatch['records'][number], registry: ContractRegistry, bucketCount: number): BatchItem {
  return decodeRecord(record, { registry, bucketOf: (key) => bucketOfKey(key, bucketCount) })
}
