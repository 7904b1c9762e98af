import type { Row } from '../session.ts'
import { textLiteral } from './literal.ts'

export interface OwnedBucket {
  readonly bucket: number
  readonly state: 'ACTIVE' | 'FROZEN' | 'GONE'
}

/** RTE-2: shared locks, so that a move of one of these buckets waits for this transaction, or this transaction for the move. */
export function lockBuckets(buckets: readonly number[]): string {
  return `SELECT bucket, state
    FROM owned_bucket
    WHERE bucket IN (${buckets.join(',')})
    ORDER BY bucket
    FOR SHARE`
}

export function parseBuckets(rows: readonly Row[]): OwnedBucket[] {
  return rows.map((row) => ({ bucket: Number(row[0]), state: row[1] as OwnedBucket['state'] }))
}

export interface AppliedOffset {
  /** Results of all messages before it were acknowledged. */
  readonly publishedOffset: bigint
  readonly nextOffset: bigint
  readonly lastDigest: Buffer | null
}

/** Orders all processes that work on one partition, and says from where it goes on (ADJ-8). */
export function lockOffset(topic: string, partition: number): string {
  return `SELECT next_offset, last_digest, published_offset
    FROM applied_offset
    WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition}
    FOR UPDATE`
}

export function parseOffset(rows: readonly Row[]): AppliedOffset | null {
  const row = rows[0]
  if (row === undefined) return null
  return { nextOffset: BigInt(row[0] as string), lastDigest: row[1] as Buffer | null, publishedOffset: BigInt(row[2] as string) }
}

/** How many messages of a batch got each verdict. */
export interface VerdictTally {
  readonly applied: number
  readonly duplicate: number
  readonly conflict: number
  readonly rejected: number
  readonly parked: number
  readonly deferred: number
  readonly stale: number
}

export interface OffsetAdvance {
  readonly topic: string
  readonly partition: number
  readonly nextOffset: bigint
  readonly lastDigestHex: string
  readonly tally: VerdictTally
  /** Results of all messages before it were acknowledged; null where this is not known. */
  readonly publishedOffset: bigint | null
  readonly nowUs: bigint
}

export function insertOffset(advance: OffsetAdvance): string {
  const { applied, duplicate, conflict, rejected, parked, deferred, stale } = advance.tally
  return `INSERT INTO applied_offset (topic, partition_no, next_offset, last_digest,
      applied_count, duplicate_count, conflict_count, rejected_count, parked_count, deferred_count, stale_count,
      published_offset, updated_at)
    VALUES (${textLiteral(advance.topic)}, ${advance.partition}, ${advance.nextOffset}, x'${advance.lastDigestHex}',
      ${applied}, ${duplicate}, ${conflict}, ${rejected}, ${parked}, ${deferred}, ${stale},
      ${advance.publishedOffset ?? 0n}, ${advance.nowUs})`
}

export function updateOffset(advance: OffsetAdvance): string {
  return `UPDATE applied_offset
    SET next_offset = ${advance.nextOffset},
      last_digest = x'${advance.lastDigestHex}',
      ${addTally(advance.tally)},
      published_offset = GREATEST(published_offset, ${advance.publishedOffset ?? 0n}),
      updated_at = ${advance.nowUs}
    WHERE topic = ${textLiteral(advance.topic)} AND partition_no = ${advance.partition}`
}

function addTally({ applied, duplicate, conflict, rejected, parked, deferred, stale }: VerdictTally): string {
  return `applied_count = applied_count + ${applied},
      duplicate_count = duplicate_count + ${duplicate},
      conflict_count = conflict_count + ${conflict},
      rejected_count = rejected_count + ${rejected},
      parked_count = parked_count + ${parked},
      deferred_count = deferred_count + (${deferred}),
      stale_count = stale_count + ${stale}`
}

/** Results of all messages before it were acknowledged. */
export function updatePublished(topic: string, partition: number, nextOffset: bigint): string {
  return `UPDATE applied_offset
    SET published_offset = GREATEST(published_offset, ${nextOffset})
    WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition}`
}

/** Messages that waited have their verdict: the counts change, the position stays. */
export function updateTally(topic: string, partition: number, tally: VerdictTally): string {
  return `UPDATE applied_offset
    SET ${addTally(tally)}
    WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition}`
}

/** Fails the packet (error 1242) before its COMMIT when the statement before it did not touch exactly these many rows. */
export function guardRowCount(rows: number): string {
  return `SELECT IF(ROW_COUNT() = ${rows}, 1, (SELECT 1 UNION SELECT 2))`
}
