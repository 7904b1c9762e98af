import type { ShardDatabase } from './session.ts'
import { type AppliedOffset, parseOffset, type VerdictTally } from './sql/fence.ts'
import { textLiteral } from './sql/literal.ts'

export interface PartitionProgress {
  readonly partition: number
  readonly nextOffset: bigint
  /** Results of all messages before it were acknowledged; remembered a little later than it was so. */
  readonly publishedOffset: bigint
  readonly tally: Readonly<Record<keyof VerdictTally, bigint>>
}

/** Where a partition goes on, or null when this shard never applied anything of it. */
export async function loadAppliedOffset(database: ShardDatabase, topic: string, partition: number): Promise<AppliedOffset | null> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT next_offset, last_digest, published_offset
      FROM applied_offset
      WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition}`),
  )
  return parseOffset(rows)
}

/** Every partition that this shard has worked on, with its exact count of verdicts. */
export async function loadProgress(database: ShardDatabase, topic: string): Promise<PartitionProgress[]> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT partition_no, next_offset, applied_count, duplicate_count, conflict_count, rejected_count, parked_count,
        deferred_count, stale_count, published_offset
      FROM applied_offset
      WHERE topic = ${textLiteral(topic)}
      ORDER BY partition_no`),
  )
  return rows.map(([partition, nextOffset, applied, duplicate, conflict, rejected, parked, deferred, stale, published]) => ({
    partition: Number(partition),
    nextOffset: BigInt(nextOffset as string),
    publishedOffset: BigInt(published as string),
    tally: {
      applied: BigInt(applied as string),
      duplicate: BigInt(duplicate as string),
      conflict: BigInt(conflict as string),
      rejected: BigInt(rejected as string),
      parked: BigInt(parked as string),
      deferred: BigInt(deferred as string),
      stale: BigInt(stale as string),
    },
  }))
}

/**
 * An operator's word that a partition goes on elsewhere, after its topic was created anew. Every message from there on is judged like any
 * other, so what had an effect before has no second one.
 * @returns whether there was a position to move. A partition of which nothing was ever applied has none, and begins with its log.
 */
export async function resetOffset(
  database: ShardDatabase,
  topic: string,
  partition: number,
  nextOffset: bigint,
  nowUs: bigint,
): Promise<boolean> {
  const [, rows = []] = await database.withSession((session) =>
    session.run(`UPDATE applied_offset
      SET next_offset = ${nextOffset}, published_offset = ${nextOffset}, last_digest = NULL, updated_at = ${nowUs}
      WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition};
      SELECT ROW_COUNT()`),
  )
  return Number(rows[0]?.[0]) > 0
}
