import { type AggregateId, aggregateIdOf, type FirstResult, idFromBytes, idToHex } from '@onceledger/core'
import { reasonFromCode, rejectionFromCode, verdictFromCode } from '../codes.ts'
import type { Row, ShardDatabase } from '../session.ts'
import { hexLiteral } from '../sql/literal.ts'

/** Whose rows are asked for. Numbers come from the control schema. */
export interface AggregateName {
  readonly tenantId: string
  readonly tenantNo: number
  readonly businessKey: string
}

export function aggregateOf({ tenantId, businessKey }: AggregateName): AggregateId {
  return aggregateIdOf(tenantId, businessKey)
}

export interface OperationView {
  readonly operationTypeNo: number
  readonly operationId: string
  readonly contractVersion: number
  readonly intentDigest: string
  readonly bucket: number
  readonly result: FirstResult
}

/** One operation by its permanent key, or null. */
export async function findOperation(
  database: ShardDatabase,
  name: AggregateName,
  operationTypeNo: number,
  operationId: string,
): Promise<OperationView | null> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT operation_type_no, operation_id, contract_version, intent_digest, bucket,
        verdict, reason, currency, amount, account_version, balance_after, committed_at
      FROM operation
      WHERE tenant_no = ${name.tenantNo} AND operation_type_no = ${operationTypeNo}
        AND operation_id = ${hexLiteral(idToHex(operationId))} AND aggregate_id = ${hexLiteral(aggregateOf(name))}`),
  )
  return rows[0] === undefined ? null : toOperation(rows[0])
}

function toOperation(row: Row): OperationView {
  return {
    operationTypeNo: Number(row[0]),
    operationId: idFromBytes(row[1] as Buffer),
    contractVersion: Number(row[2]),
    intentDigest: (row[3] as Buffer).toString('hex'),
    bucket: Number(row[4]),
    result: {
      verdict: verdictFromCode(Number(row[5])) === 'APPLIED' ? 'APPLIED' : 'REJECTED',
      reason: rejectionFromCode(Number(row[6])),
      currency: row[7] === null ? null : (row[7] as Buffer).toString('latin1'),
      amountMinor: BigInt(row[8] as string),
      accountVersion: BigInt(row[9] as string),
      balanceAfterMinor: BigInt(row[10] as string),
      committedAtUs: BigInt(row[11] as string),
    },
  }
}

export interface EventView {
  readonly eventId: string
  readonly eventDay: number
  readonly contractVersion: number
  readonly verdict: string
  readonly reason: string | null
  readonly operationTypeNo: number
  readonly operationId: string | null
  readonly bucket: number
  readonly sourceOffset: bigint | null
  readonly processedAtUs: bigint
  /** Only where the contract is judged by event. */
  readonly balanceAfterMinor: bigint | null
  readonly accountVersion: bigint | null
}

/** The inbox rows of one event: one, unless an id without a time was processed on two days. */
export async function findEvents(database: ShardDatabase, name: AggregateName, consumerNo: number, eventId: string): Promise<EventView[]> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT event_id, event_day, contract_version, verdict, reason, operation_type_no, operation_id, bucket, source_offset,
        processed_at, balance_after, account_version
      FROM inbox
      WHERE tenant_no = ${name.tenantNo} AND consumer_no = ${consumerNo}
        AND event_id = ${hexLiteral(idToHex(eventId))} AND aggregate_id = ${hexLiteral(aggregateOf(name))}
      ORDER BY event_day`),
  )
  return rows.map((row) => ({
    eventId: idFromBytes(row[0] as Buffer),
    eventDay: Number(row[1]),
    contractVersion: Number(row[2]),
    verdict: verdictFromCode(Number(row[3])),
    reason: reasonFromCode(Number(row[4])),
    operationTypeNo: Number(row[5]),
    operationId: row[6] === null ? null : idFromBytes(row[6] as Buffer),
    bucket: Number(row[7]),
    sourceOffset: toBigint(row[8]),
    processedAtUs: BigInt(row[9] as string),
    balanceAfterMinor: toBigint(row[10]),
    accountVersion: toBigint(row[11]),
  }))
}

function toBigint(cell: unknown): bigint | null {
  return cell === null || cell === undefined ? null : BigInt(cell as string)
}
