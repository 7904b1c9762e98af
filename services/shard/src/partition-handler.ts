import type { HandleOutcome, PartitionBatch } from '@onceledger/command-log'
import { type ContractRegistry, decodeRecord, encodeResult, recordDigest, type SourceRecord } from '@onceledger/core'
import {
  type Adjudicator,
  type Batch,
  type BatchItem,
  type BatchOutcome,
  type Published,
  type PublishedResults,
  StoreUnavailable,
} from '@onceledger/ledger-store'
import { bucketOfKey } from '@onceledger/shard-map'
import type { ParkingWindow } from './parking-window.ts'
import type { ResultCatchUp } from './results/catch-up.ts'
import { PackedResults } from './results/packed-results.ts'
import type { ResultRelay } from './results/relay.ts'
import type { PartitionTurns } from './turns.ts'

/** Where the results of committed batches go. */
interface ResultsOutlet {
  readonly relay: Pick<ResultRelay, 'room' | 'enqueue' | 'published' | 'remembered'>
  readonly catchUp: Pick<ResultCatchUp, 'handle'>
}

export interface PartitionHandlerOptions {
  readonly adjudicator: Adjudicator
  readonly registry: ContractRegistry
  readonly bucketCount: number
  /** Messages behind the applied offset are judged again instead of skipped: for redelivery proofs. */
  readonly redelivery: boolean
  /** Partitions that read the log from its first record, because the database had no position for them, and have not committed since. */
  readonly fresh: Set<number>
  readonly turns: PartitionTurns
  readonly parking: Pick<ParkingWindow, 'stoppedFor' | 'parked'>
  /** Null where no results are published. */
  readonly results: ResultsOutlet | null
  readonly onCommitted: (batch: PartitionBatch, outcome: BatchOutcome & { kind: 'committed' }) => void
}

const RETRY_UNAVAILABLE_MS = 1_000
/** The watch starts the partition again meanwhile. */
const RETRY_NO_POSITION_MS = 2_000
const RETRY_NOT_OWNER_MS = 5_000
const RETRY_STOPPED_MS = 30_000
const RETRY_RESULTS_MS = 1_000
const RESULTS_ROOM_TIMEOUT_MS = 10_000

/** Turns one batch of a partition into one adjudication, and its outcome into what the log does next. */
export function createPartitionHandler(options: PartitionHandlerOptions): (batch: PartitionBatch) => Promise<HandleOutcome> {
  const { parking, results, turns } = options
  return async (batch) => {
    const last = batch.records.at(-1)
    if (last === undefined) return { kind: 'done', nextOffset: batch.expectedOffset }
    const stopped = parking.stoppedFor(batch.partition)
    if (stopped !== null) return { kind: 'pause', retryAfterMs: RETRY_STOPPED_MS, reason: stopped }
    const caughtUp = (await results?.catchUp.handle(batch)) ?? null
    if (caughtUp !== null) return caughtUp
    if (results !== null && !(await results.relay.room(RESULTS_ROOM_TIMEOUT_MS)))
      return { kind: 'pause', retryAfterMs: RETRY_RESULTS_MS, reason: 'the results topic does not take what was judged before' }
    return turns.run(batch.partition, () => judge(batch, last, options))
  }
}

async function judge(batch: PartitionBatch, last: SourceRecord, options: PartitionHandlerOptions): Promise<HandleOutcome> {
  const { adjudicator, fresh, parking, results, onCommitted } = options
  const { partition } = batch
  const published = results?.relay.published(partition)
  try {
    const outcome = await adjudicator.judge(toStoreBatch(batch, last, published, options))
    if (outcome.kind === 'committed') {
      fresh.delete(partition)
      results?.relay.remembered(partition, published)
      results?.relay.enqueue(partition, { results: packResults(outcome.results), publishedTo: outcome.nextOffset })
      parking.parked(partition, outcome.judgements.filter(({ verdict }) => verdict === 'PARKED').length)
      onCommitted(batch, outcome)
    }
    return toHandleOutcome(outcome, partition, parking)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    // Nothing is parked for a fault of the infrastructure: the partition waits and says so (ADJ-4).
    return { kind: 'pause', retryAfterMs: RETRY_UNAVAILABLE_MS, reason: `${error.code}: ${error.message}` }
  }
}

/** Results as the relay holds them. */
export function packResults(answers: readonly Published[]): PackedResults {
  return PackedResults.of(answers, encodeResult, ({ inOutbox, record }) => (inOutbox ? record.position.offset : null))
}

function toStoreBatch(
  batch: PartitionBatch,
  last: SourceRecord,
  published: PublishedResults | undefined,
  options: PartitionHandlerOptions,
): Batch {
  const bucketOf = (routingKey: string): number => bucketOfKey(routingKey, options.bucketCount)
  const items: BatchItem[] = batch.records.map((record) => decodeRecord(record, { registry: options.registry, bucketOf }))
  const source = {
    topic: batch.topic,
    partition: batch.partition,
    expectedOffset: batch.expectedOffset,
    nextOffset: last.position.offset + 1n,
    lastDigestHex: recordDigest(last).toString('hex'),
    redelivery: options.redelivery,
    fresh: options.fresh.has(batch.partition),
    ...(published === undefined ? {} : { published }),
  }
  // A command of another bucket is refused as MISROUTED when it is decoded, so the partition's own bucket is the only one touched.
  return { source, items, buckets: [batch.partition] }
}

function toHandleOutcome(outcome: BatchOutcome, partition: number, parking: Pick<ParkingWindow, 'stoppedFor'>): HandleOutcome {
  switch (outcome.kind) {
    case 'committed':
      return { kind: 'done', nextOffset: outcome.nextOffset }
    case 'position':
      return { kind: 'seek', nextOffset: outcome.nextOffset, lastDigest: outcome.lastDigest }
    case 'no-position':
      return {
        kind: 'pause',
        retryAfterMs: RETRY_NO_POSITION_MS,
        reason: 'the database has lost its position in this partition; it will be asked again',
      }
    case 'parking-storm':
      return {
        kind: 'pause',
        retryAfterMs: RETRY_STOPPED_MS,
        reason: parking.stoppedFor(partition) ?? `PARKING_STORM: the next batch would park ${outcome.parked} messages`,
      }
    case 'not-owner':
      return {
        kind: 'pause',
        retryAfterMs: RETRY_NOT_OWNER_MS,
        reason: `bucket ${outcome.bucket} is ${outcome.state} in this shard's database`,
      }
  }
}
