import type { AggregateId } from '@onceledger/core'
import type { Row, Session, ShardDatabase } from '../session.ts'
import { hexLiteral } from '../sql/literal.ts'

/** A business key whose commands wait for versions that have not come (ORD-3). */
export interface GapView {
  readonly aggregateId: AggregateId
  readonly tenantNo: number
  readonly businessKey: string
  readonly bucket: number
  /** The last version that was taken. */
  readonly headVersion: bigint
  /** Versions between the head and the highest that waits, of which nothing is here; the first ten ranges. */
  readonly missing: readonly VersionRange[]
  readonly waiting: number
  /** Since when the oldest waits. Microseconds since 1970, UTC. */
  readonly oldestSinceUs: bigint
  /** How often the source was asked for them, and when last (0: never). */
  readonly requests: number
  readonly requestedAtUs: bigint
}

/** Both ends belong to it. */
export interface VersionRange {
  readonly from: bigint
  readonly to: bigint
}

export interface GapFilter {
  /** All buckets of the shard unless given. */
  readonly buckets?: readonly number[]
  readonly tenantNo?: number
  readonly limit: number
}

export interface GapCounts {
  readonly gaps: number
  readonly waiting: number
  readonly oldestSinceUs: bigint | null
}

const RANGES_MAX = 10
/** Versions of one key that are looked through for its missing ranges. */
const VERSIONS_MAX = 1_000

/** Those that wait longest first. The payloads of what waits are not read for it. */
export async function loadGaps(database: ShardDatabase, filter: GapFilter): Promise<GapView[]> {
  const { buckets, tenantNo, limit } = filter
  if (buckets?.length === 0) return []
  return database.withSession(async (session) => {
    const [rows = []] =
      await session.run(`SELECT h.aggregate_id, h.tenant_no, h.business_key, h.bucket, h.version, d.waiting, d.oldest_at, h.gap_requests, h.gap_requested_at
      FROM (
        SELECT aggregate_id, MIN(version) AS first_version, COUNT(*) AS waiting, MIN(deferred_at) AS oldest_at
        FROM deferred FORCE INDEX (age)
        ${buckets === undefined ? '' : `WHERE bucket IN (${buckets.join(',')})`}
        GROUP BY aggregate_id
      ) AS d
      STRAIGHT_JOIN sequence_head AS h FORCE INDEX (PRIMARY) ON h.aggregate_id = d.aggregate_id
      WHERE d.first_version > h.version + 1${tenantNo === undefined ? '' : ` AND h.tenant_no = ${tenantNo}`}
      ORDER BY d.oldest_at, d.aggregate_id
      LIMIT ${limit}`)
    const gaps: GapView[] = []
    for (const row of rows) gaps.push(await toGap(session, row))
    return gaps
  })
}

async function toGap(session: Session, row: Row): Promise<GapView> {
  const aggregateId = (row[0] as Buffer).toString('hex') as AggregateId
  const headVersion = BigInt(row[4] as string)
  const [versions = []] = await session.run(`SELECT DISTINCT version
    FROM deferred
    WHERE aggregate_id = ${hexLiteral(aggregateId)}
    ORDER BY version
    LIMIT ${VERSIONS_MAX}`)
  return {
    aggregateId,
    tenantNo: Number(row[1]),
    businessKey: (row[2] as Buffer).toString('utf8'),
    bucket: Number(row[3]),
    headVersion,
    missing: missingRanges(
      headVersion,
      versions.map(([version]) => BigInt(version as string)),
    ),
    waiting: Number(row[5]),
    oldestSinceUs: BigInt(row[6] as string),
    requests: Number(row[7]),
    requestedAtUs: BigInt(row[8] as string),
  }
}

/** @param versions that wait, ascending. */
export function missingRanges(headVersion: bigint, versions: readonly bigint[]): VersionRange[] {
  const ranges: VersionRange[] = []
  let next = headVersion + 1n
  for (const version of versions) {
    if (version > next) ranges.push({ from: next, to: version - 1n })
    if (ranges.length === RANGES_MAX) return ranges
    if (version >= next) next = version + 1n
  }
  return ranges
}

/** For metrics. Reads every waiting row of the buckets in an index. */
export async function countGaps(database: ShardDatabase, buckets: readonly number[]): Promise<GapCounts> {
  if (buckets.length === 0) return { gaps: 0, waiting: 0, oldestSinceUs: null }
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT COUNT(DISTINCT aggregate_id), COUNT(*), MIN(deferred_at)
      FROM deferred FORCE INDEX (age)
      WHERE bucket IN (${buckets.join(',')})`),
  )
  const [gaps, waiting, oldest] = rows[0] ?? []
  return {
    gaps: Number(gaps),
    waiting: Number(waiting),
    oldestSinceUs: oldest === null || oldest === undefined ? null : BigInt(oldest as string),
  }
}

/** The source was asked once more. @returns false where another process has done so meanwhile. */
export async function markGapRequested(
  database: ShardDatabase,
  gap: Pick<GapView, 'aggregateId' | 'requests'>,
  nowUs: bigint,
): Promise<boolean> {
  const [, rows = []] = await database.withSession((session) =>
    session.run(`UPDATE sequence_head
      SET gap_requests = gap_requests + 1, gap_requested_at = ${nowUs}
      WHERE aggregate_id = ${hexLiteral(gap.aggregateId)} AND gap_requests = ${gap.requests};
      SELECT ROW_COUNT()`),
  )
  return Number(rows[0]?.[0]) === 1
}
