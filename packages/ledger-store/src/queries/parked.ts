import type { ShardDatabase } from '../session.ts'
import { textLiteral } from '../sql/literal.ts'

export interface ParkedView {
  readonly id: bigint
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly state: string
  readonly reason: string
  readonly detail: string
  readonly tenantId: string | null
  readonly key: Buffer | null
  readonly valueBytes: number
  readonly retryable: boolean
  readonly attempts: number
  readonly parkedAtUs: bigint
}

export interface ParkedFilter {
  readonly reason?: string
  readonly limit: number
}

/** Messages that wait, oldest first (ADJ-10). */
export async function listParked(database: ShardDatabase, { reason, limit }: ParkedFilter): Promise<ParkedView[]> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT id, topic, partition_no, source_offset, state, reason, detail, tenant_id, record_key,
        COALESCE(LENGTH(record_value), 0), retryable, attempts, parked_at
      FROM parked
      WHERE state = 'PARKED'${reason === undefined ? '' : ` AND reason = ${textLiteral(reason)}`}
      ORDER BY id
      LIMIT ${limit}`),
  )
  return rows.map((row) => ({
    id: BigInt(row[0] as string),
    topic: (row[1] as Buffer).toString('utf8'),
    partition: Number(row[2]),
    offset: BigInt(row[3] as string),
    state: String(row[4]),
    reason: (row[5] as Buffer).toString('utf8'),
    detail: String(row[6]),
    tenantId: row[7] === null ? null : (row[7] as Buffer).toString('utf8'),
    key: row[8] as Buffer | null,
    valueBytes: Number(row[9]),
    retryable: Number(row[10]) === 1,
    attempts: Number(row[11]),
    parkedAtUs: BigInt(row[12] as string),
  }))
}

/** How many messages wait, by reason. */
export async function countParked(database: ShardDatabase): Promise<ReadonlyMap<string, number>> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT reason, COUNT(*)
      FROM parked
      WHERE state = 'PARKED'
      GROUP BY reason
      ORDER BY reason`),
  )
  return new Map(rows.map(([reason, count]) => [(reason as Buffer).toString('utf8'), Number(count)]))
}
