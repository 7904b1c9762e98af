import { type BusinessKey, idFromBytes, idToHex, operationReference } from '@onceledger/core'
import type { Row, ShardDatabase } from '../session.ts'
import { hexLiteral, textLiteral } from '../sql/literal.ts'
import { type AggregateName, aggregateOf } from './show.ts'

/** Evidence of a use of an identity that was refused, or of an event id that stood for two operations. */
export interface AuditView {
  readonly kind: 'CONFLICT' | 'EVENT_REUSED'
  readonly operationTypeNo: number
  readonly operationId: string | null
  readonly contractVersion: number
  readonly eventId: string
  readonly businessKey: string
  /** The refused intent. */
  readonly intent: Readonly<Record<string, string>>
  readonly digest: string
  /** Who stood there first, as `type/operation id` or an event id. */
  readonly firstOperation: string | null
  readonly firstDigest: string | null
  readonly topic: string | null
  readonly partition: number | null
  readonly offset: bigint | null
  readonly firstSeenUs: bigint
  readonly lastSeenUs: bigint
  readonly seenCount: number
}

/** What audits are asked for. An operation without `aggregate` is tenant-wide: its refused uses may stand under any business key. */
export type AuditSubject =
  | {
      readonly kind: 'operation'
      readonly tenantNo: number
      readonly type: string
      readonly typeNo: number
      readonly operationId: string
      readonly aggregate?: AggregateName
    }
  | { readonly kind: 'event'; readonly aggregate: AggregateName; readonly consumerNo: number; readonly eventId: string }

const AUDITS_MAX = 100

/**
 * Audit rows of this shard about an event, or about an operation: refused uses of its identity, and of versions that it took. Oldest first, at most
 * 100. Reads these alone, however many there are of others.
 */
export async function findAudits(database: ShardDatabase, subject: AuditSubject): Promise<AuditView[]> {
  const halves = subject.kind === 'event' ? [ofEvent(subject)] : ofOperation(subject)
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT a.kind, a.operation_type_no, a.operation_id, a.contract_version, a.event_id, a.business_key, a.intent, a.digest,
        a.first_operation, a.first_digest, a.topic, a.partition_no, a.source_offset, a.recorded_at, a.last_seen_at, a.seen_count
      FROM (${halves.map((half) => `(${half} ORDER BY id LIMIT ${AUDITS_MAX})`).join(' UNION ')}) AS found
      STRAIGHT_JOIN conflict_audit AS a FORCE INDEX (PRIMARY) ON a.id = found.id
      ORDER BY a.id
      LIMIT ${AUDITS_MAX}`),
  )
  return rows.map(toAudit)
}

function ofEvent({ aggregate, consumerNo, eventId }: Extract<AuditSubject, { kind: 'event' }>): string {
  return `SELECT id
    FROM conflict_audit FORCE INDEX (evidence)
    WHERE tenant_no = ${aggregate.tenantNo} AND consumer_no = ${consumerNo} AND aggregate_id = ${hexLiteral(aggregateOf(aggregate))}
      AND event_id = ${hexLiteral(idToHex(eventId))}`
}

function ofOperation({ tenantNo, type, typeNo, operationId, aggregate }: Extract<AuditSubject, { kind: 'operation' }>): string[] {
  const aggregateId = aggregate === undefined ? null : hexLiteral(aggregateOf(aggregate))
  const uses = `SELECT id
    FROM conflict_audit FORCE INDEX (operation)
    WHERE tenant_no = ${tenantNo} AND operation_type_no = ${typeNo} AND operation_id = ${hexLiteral(idToHex(operationId))}`
  if (aggregateId === null) return [uses]
  const versions = `SELECT id
    FROM conflict_audit FORCE INDEX (first_operation)
    WHERE aggregate_id = ${aggregateId} AND first_operation = ${textLiteral(operationReference(type, operationId))}`
  return [`${uses} AND aggregate_id = ${aggregateId}`, versions]
}

function toAudit(row: Row): AuditView {
  const operationId = row[2] as Buffer
  return {
    kind: row[0] as AuditView['kind'],
    operationTypeNo: Number(row[1]),
    operationId: operationId.length === 0 ? null : idFromBytes(operationId),
    contractVersion: Number(row[3]),
    eventId: idFromBytes(row[4] as Buffer),
    businessKey: (row[5] as Buffer).toString('utf8'),
    intent: (typeof row[6] === 'string' ? JSON.parse(row[6]) : row[6]) as AuditView['intent'],
    digest: (row[7] as Buffer).toString('hex'),
    firstOperation: row[8] === null ? null : (row[8] as Buffer).toString('utf8'),
    firstDigest: row[9] === null ? null : (row[9] as Buffer).toString('hex'),
    topic: row[10] === null ? null : (row[10] as Buffer).toString('utf8'),
    partition: row[11] === null ? null : Number(row[11]),
    offset: row[12] === null ? null : BigInt(row[12] as string),
    firstSeenUs: BigInt(row[13] as string),
    lastSeenUs: BigInt(row[14] as string),
    seenCount: Number(row[15]),
  }
}

export interface BindingView {
  readonly businessKey: BusinessKey
  readonly contractVersion: number
  readonly intentDigest: string
  readonly boundAtUs: bigint
}

/** Whose a tenant-wide identity is, asked in the shard of its home bucket; null where nobody claimed it. */
export async function findBinding(
  database: ShardDatabase,
  identity: { readonly tenantNo: number; readonly typeNo: number; readonly operationId: string },
): Promise<BindingView | null> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT business_key, contract_version, intent_digest, bound_at
      FROM binding
      WHERE tenant_no = ${identity.tenantNo} AND operation_type_no = ${identity.typeNo}
        AND operation_id = ${hexLiteral(idToHex(identity.operationId))}`),
  )
  const [row] = rows
  if (row === undefined) return null
  return {
    businessKey: (row[0] as Buffer).toString('utf8') as BusinessKey,
    contractVersion: Number(row[1]),
    intentDigest: (row[2] as Buffer).toString('hex'),
    boundAtUs: BigInt(row[3] as string),
  }
}

export interface ReversalView {
  readonly operationTypeNo: number
  readonly operationId: string
}

/** The operation that reversed this one, or null. */
export async function findReversal(
  database: ShardDatabase,
  name: AggregateName,
  target: { readonly typeNo: number; readonly operationId: string },
): Promise<ReversalView | null> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT operation_type_no, operation_id
      FROM reversal
      WHERE tenant_no = ${name.tenantNo} AND target_operation_type_no = ${target.typeNo}
        AND target_operation_id = ${hexLiteral(idToHex(target.operationId))} AND aggregate_id = ${hexLiteral(aggregateOf(name))}`),
  )
  const [row] = rows
  return row === undefined ? null : { operationTypeNo: Number(row[0]), operationId: idFromBytes(row[1] as Buffer) }
}

export interface WaitingView {
  readonly version: bigint
  readonly operationTypeNo: number
  readonly operationId: string | null
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly sinceUs: bigint
}

/** An event's commands that wait for a predecessor. Reads the waiting rows of its business key alone. */
export async function findWaiting(
  database: ShardDatabase,
  name: AggregateName,
  consumerNo: number,
  eventId: string,
): Promise<WaitingView[]> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT version, operation_type_no, operation_id, topic, partition_no, source_offset, deferred_at
      FROM deferred
      WHERE aggregate_id = ${hexLiteral(aggregateOf(name))} AND consumer_no = ${consumerNo} AND event_id = ${hexLiteral(idToHex(eventId))}
      ORDER BY version
      LIMIT ${AUDITS_MAX}`),
  )
  return rows.map((row) => ({
    version: BigInt(row[0] as string),
    operationTypeNo: Number(row[1]),
    operationId: (row[2] as Buffer).length === 0 ? null : idFromBytes(row[2] as Buffer),
    topic: (row[3] as Buffer).toString('utf8'),
    partition: Number(row[4]),
    offset: BigInt(row[5] as string),
    sinceUs: BigInt(row[6] as string),
  }))
}
