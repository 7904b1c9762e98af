import type { HandleOutcome, PartitionBatch } from '@onceledger/command-log'
import { type ContractRegistry, decodeRecord, recordDigest, type SourceRecord } from '@onceledger/core'
import { type Adjudicator, type Batch, type BatchItem, type BatchOutcome, StoreUnavailable } from '@onceledger/ledger-store'
import { bucketOfKey } from '@onceledger/shard-map'

export interface PartitionHandlerOptions {
  readonly adjudicator: Adjudicator
  readonly registry: ContractRegistry
  readonly bucketCount: number
  /** Messages behind the applied offset are judged again instead of skipped: for redelivery proofs. */
  readonly redelivery: boolean
  /** Partitions that read the log from its first record, because the database had no position for them, and have not committed since. */
  readonly fresh: Set<number>
  readonly onCommitted: (batch: PartitionBatch, outcome: BatchOutcome & { kind: 'committed' }) => void
}

const RETRY_UNAVAILABLE_MS = 1_000
/** The watch starts the partition again meanwhile. */
const RETRY_NO_POSITION_MS = 2_000
const RETRY_NOT_OWNER_MS = 5_000

/** Turns one batch of a partition into one adjudication, and its outcome into what the log does next. */
export function createPartitionHandler(options: PartitionHandlerOptions): (batch: PartitionBatch) => Promise<HandleOutcome> {
  return async (batch) => {
    const last = batch.records.at(-1)
    if (last === undefined) return { kind: 'done', nextOffset: batch.expectedOffset }
    try {
      const outcome = await options.adjudicator.judge(toStoreBatch(batch, last, options))
      if (outcome.kind === 'committed') {
        options.fresh.delete(batch.partition)
        options.onCommitted(batch, outcome)
      }
      return toHandleOutcome(outcome)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      // Nothing is parked for a fault of the infrastructure: the partition waits and says so (ADJ-4).
      return { kind: 'pause', retryAfterMs: RETRY_UNAVAILABLE_MS, reason: `${error.code}: ${error.message}` }
    }
  }
}

function toStoreBatch(batch: PartitionBatch, last: SourceRecord, options: PartitionHandlerOptions): Batch {
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
  }
  // A command of another bucket is refused as MISROUTED when it is decoded, so the partition's own bucket is the only one touched.
  return { source, items, buckets: [batch.partition] }
}

function toHandleOutcome(outcome: BatchOutcome): HandleOutcome {
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
      return { kind: 'pause', retryAfterMs: RETRY_NOT_OWNER_MS, reason: `the next batch would park ${outcome.parked} messages` }
    case 'not-owner':
      return {
        kind: 'pause',
        retryAfterMs: RETRY_NOT_OWNER_MS,
        reason: `bucket ${outcome.bucket} is ${outcome.state} in this shard's database`,
      }
  }
}
