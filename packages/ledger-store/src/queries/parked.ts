import type { SourceRecord } from '@onceledger/core'
import type { Row, ShardDatabase } from '../session.ts'
import { textLiteral } from '../sql/literal.ts'
import { parseHeaders } from '../sql/record.ts'

export const PARKED_STATES = ['PARKED', 'REPLAYED', 'DISCARDED'] as const
export type ParkedState = (typeof PARKED_STATES)[number]

export interface ParkedView {
  readonly id: bigint
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly state: ParkedState
  readonly reason: string
  readonly detail: string
  readonly tenantId: string | null
  readonly key: Buffer | null
  readonly valueBytes: number
  readonly retryable: boolean
  /** How often the message was judged and parked, replays included. */
  readonly attempts: number
  readonly parkedAtUs: bigint
}

/** What is left out is not asked for. */
export interface ParkedFilter {
  readonly ids?: readonly bigint[]
  readonly state?: ParkedState
  readonly reason?: string
  readonly tenantId?: string
  /** Microseconds since 1970, UTC: parked at or after `sinceUs`, before `untilUs`. */
  readonly sinceUs?: bigint
  readonly untilUs?: bigint
  readonly limit: number
}

const VIEW = `id, topic, partition_no, source_offset, state, reason, detail, tenant_id, record_key,
        COALESCE(LENGTH(record_value), 0), retryable, attempts, parked_at`

/** Messages that could not be judged, oldest first (ADJ-10). */
export async function listParked(database: ShardDatabase, filter: ParkedFilter): Promise<ParkedView[]> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT ${VIEW}
      FROM parked
      WHERE ${conditions(filter)}
      ORDER BY id
      LIMIT ${filter.limit}`),
  )
  return rows.map(toView)
}

/** How many messages a filter means, whatever its limit. */
export async function countParkedBy(database: ShardDatabase, filter: ParkedFilter): Promise<number> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT COUNT(*)
      FROM parked
      WHERE ${conditions(filter)}`),
  )
  return Number(rows[0]?.[0])
}

function conditions({ ids, state, reason, tenantId, sinceUs, untilUs }: ParkedFilter): string {
  const wanted = [
    ...(ids === undefined ? [] : [`id IN (${ids.join(',')})`]),
    ...(state === undefined ? [] : [`state = '${state}'`]),
    ...(reason === undefined ? [] : [`reason = ${textLiteral(reason)}`]),
    ...(tenantId === undefined ? [] : [`tenant_id = ${textLiteral(tenantId)}`]),
    ...(sinceUs === undefined ? [] : [`parked_at >= ${sinceUs}`]),
    ...(untilUs === undefined ? [] : [`parked_at < ${untilUs}`]),
  ]
  return wanted.length === 0 ? 'TRUE' : wanted.join(' AND ')
}

function toView(row: Row): ParkedView {
  return {
    id: BigInt(row[0] as string),
    topic: (row[1] as Buffer).toString('utf8'),
    partition: Number(row[2]),
    offset: BigInt(row[3] as string),
    state: row[4] as ParkedState,
    reason: (row[5] as Buffer).toString('utf8'),
    detail: String(row[6]),
    tenantId: row[7] === null ? null : (row[7] as Buffer).toString('utf8'),
    key: row[8] as Buffer | null,
    valueBytes: Number(row[9]),
    retryable: Number(row[10]) === 1,
    attempts: Number(row[11]),
    parkedAtUs: BigInt(row[12] as string),
  }
}

export interface ParkedGroup {
  readonly reason: string
  readonly count: number
  readonly oldestUs: bigint
  readonly newestUs: bigint
}

/** What waits, by reason. */
export async function groupParked(database: ShardDatabase): Promise<ParkedGroup[]> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT reason, COUNT(*), MIN(parked_at), MAX(parked_at)
      FROM parked
      WHERE state = 'PARKED'
      GROUP BY reason
      ORDER BY reason`),
  )
  return rows.map(([reason, count, oldest, newest]) => ({
    reason: (reason as Buffer).toString('utf8'),
    count: Number(count),
    oldestUs: BigInt(oldest as string),
    newestUs: BigInt(newest as string),
  }))
}

/** How many messages wait, by reason. */
export async function countParked(database: ShardDatabase): Promise<ReadonlyMap<string, number>> {
  return new Map((await groupParked(database)).map(({ reason, count }) => [reason, count]))
}

/** What an operator did with a parked message. */
export interface ParkedAction {
  readonly action: 'REPLAYED' | 'DISCARDED'
  readonly actor: string
  readonly reason: string
  /** Where a replay put the message. */
  readonly topic: string | null
  readonly partition: number | null
  readonly offset: bigint | null
  readonly doneAtUs: bigint
}

export interface ParkedMessage extends ParkedView {
  readonly record: SourceRecord
  readonly retryAtUs: bigint | null
  readonly actions: readonly ParkedAction[]
}

/** One message whole, with everything that was done with it; null where there is none of that id. */
export async function findParked(database: ShardDatabase, id: bigint): Promise<ParkedMessage | null> {
  const [rows = [], actions = []] = await database.withSession((session) =>
    session.run(`SELECT ${VIEW}, record_value, headers, record_time, retry_at
      FROM parked
      WHERE id = ${id};
      SELECT action, actor, reason, topic, partition_no, replayed_offset, done_at
      FROM parked_action
      WHERE parked_id = ${id}
      ORDER BY id`),
  )
  const [row] = rows
  if (row === undefined) return null
  const view = toView(row)
  const { topic, partition, offset, key } = view
  return {
    ...view,
    record: {
      position: { topic, partition, offset },
      key,
      value: row[13] as Buffer | null,
      headers: parseHeaders(row[14] as Buffer),
      timestampMs: BigInt(row[15] as string),
    },
    retryAtUs: row[16] === null ? null : BigInt(row[16] as string),
    actions: actions.map(toAction),
  }
}

function toAction(row: Row): ParkedAction {
  return {
    action: row[0] as ParkedAction['action'],
    actor: String(row[1]),
    reason: String(row[2]),
    topic: row[3] === null ? null : (row[3] as Buffer).toString('utf8'),
    partition: row[4] === null ? null : Number(row[4]),
    offset: row[5] === null ? null : BigInt(row[5] as string),
    doneAtUs: BigInt(row[6] as string),
  }
}
