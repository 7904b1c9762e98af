import {
  type Command,
  idToHex,
  operationKey,
  type OperationWrite,
  type ReversalWrite,
  type StoredOperation,
  type AggregateId,
} from '@onceledger/core'
import { reasonCode, rejectionFromCode, verdictCode, verdictFromCode } from '../codes.ts'
import type { Names } from '../names.ts'
import type { Row } from '../session.ts'
import { currencyLiteral, hexLiteral, idLiteral } from './literal.ts'

/** The identity of an operation as its permanent key has it (IDN-2). */
export interface OperationIdentity {
  readonly tenantId: string
  readonly type: string
  readonly typeNo: number
  readonly operationId: string
  readonly operationIdHex: string
  readonly aggregateId: AggregateId
}

const IDENTITY = 'tenant_no, operation_type_no, operation_id, aggregate_id'

function identityLiterals(identity: OperationIdentity, names: Names): string {
  return `${names.tenantNo(identity.tenantId)},${identity.typeNo},${hexLiteral(identity.operationIdHex)},${hexLiteral(identity.aggregateId)}`
}

/** One lookup in the primary key for each identity; `i` is its place in the list. */
export function selectOperations(identities: readonly OperationIdentity[], names: Names): string {
  const values = identities.map((identity, i) => `ROW(${i},${identityLiterals(identity, names)})`)
  return `SELECT wanted.i, o.contract_version, o.intent_digest, o.verdict, o.reason, o.currency, o.amount, o.account_version, o.balance_after,
      o.committed_at
    FROM (VALUES ${values.join(',')}) AS wanted (i, ${IDENTITY})
    STRAIGHT_JOIN operation AS o FORCE INDEX (PRIMARY)
      ON o.tenant_no = wanted.tenant_no AND o.operation_type_no = wanted.operation_type_no
        AND o.operation_id = wanted.operation_id AND o.aggregate_id = wanted.aggregate_id`
}

export function parseOperations(rows: readonly Row[], identities: readonly OperationIdentity[]): Map<string, StoredOperation> {
  const operations = new Map<string, StoredOperation>()
  for (const row of rows) {
    const identity = identities[Number(row[0])]
    if (identity === undefined) continue
    operations.set(operationKey(identity.type, identity.operationId, identity.aggregateId), {
      contractVersion: Number(row[1]),
      digest: (row[2] as Buffer).toString('hex'),
      result: {
        verdict: verdictFromCode(Number(row[3])) === 'APPLIED' ? 'APPLIED' : 'REJECTED',
        reason: rejectionFromCode(Number(row[4])),
        currency: row[5] === null ? null : (row[5] as Buffer).toString('latin1'),
        amountMinor: BigInt(row[6] as string),
        accountVersion: BigInt(row[7] as string),
        balanceAfterMinor: BigInt(row[8] as string),
        committedAtUs: BigInt(row[9] as string),
      },
    })
  }
  return operations
}

export function insertOperations(rows: readonly OperationWrite[], names: Names): string {
  const values = rows.map(({ command, result }) => {
    const identity = identityLiterals(identityOf(command, names), names)
    return (
      `(${identity},${command.contract.version},${verdictCode(result.verdict)},${reasonCode(result.reason)},${command.bucket},` +
      `${hexLiteral(command.digest)},${currencyLiteral(result.currency)},${result.amountMinor},${result.accountVersion},` +
      `${result.balanceAfterMinor},${result.committedAtUs})`
    )
  })
  return `INSERT INTO operation (${IDENTITY}, contract_version, verdict, reason, bucket,
      intent_digest, currency, amount, account_version,
      balance_after, committed_at)
    VALUES ${values.join(',')}`
}

/** Targets that are already reversed. */
export function selectReversals(targets: readonly OperationIdentity[], names: Names): string {
  const values = targets.map((target, i) => `ROW(${i},${identityLiterals(target, names)})`)
  return `SELECT wanted.i
    FROM (VALUES ${values.join(',')}) AS wanted (i, ${IDENTITY})
    STRAIGHT_JOIN reversal AS r FORCE INDEX (PRIMARY)
      ON r.tenant_no = wanted.tenant_no AND r.target_operation_type_no = wanted.operation_type_no
        AND r.target_operation_id = wanted.operation_id AND r.aggregate_id = wanted.aggregate_id`
}

export function parseReversals(rows: readonly Row[], targets: readonly OperationIdentity[]): Set<string> {
  const reversed = new Set<string>()
  for (const row of rows) {
    const target = targets[Number(row[0])]
    if (target !== undefined) reversed.add(operationKey(target.type, target.operationId, target.aggregateId))
  }
  return reversed
}

export function insertReversals(rows: readonly ReversalWrite[], names: Names): string {
  const values = rows.map(({ command, targetType, targetOperationId }) => {
    const own = identityOf(command, names)
    return (
      `(${names.tenantNo(command.tenantId)},${names.operationTypeNo(targetType)},${idLiteral(targetOperationId)},${hexLiteral(command.aggregateId)},` +
      `${own.typeNo},${hexLiteral(own.operationIdHex)})`
    )
  })
  return `INSERT INTO reversal (tenant_no, target_operation_type_no, target_operation_id, aggregate_id,
      operation_type_no, operation_id)
    VALUES ${values.join(',')}`
}

/** The identity that a command claims. Only for contracts judged by operation. */
export function identityOf(command: Command, names: Names): OperationIdentity {
  return {
    tenantId: command.tenantId,
    type: command.contract.name,
    typeNo: names.operationTypeNo(command.contract.name),
    operationId: command.operationId ?? '',
    operationIdHex: command.operationIdHex ?? '',
    aggregateId: command.aggregateId,
  }
}

/** The operations that the batch's reversals aim at; a type that no contract has ever used cannot stand in the table. */
export function reversalTargets(commands: readonly Command[], names: Names): OperationIdentity[] {
  const targets: OperationIdentity[] = []
  for (const command of commands) {
    if (command.contract.effect.kind !== 'reverse') continue
    const { targetType: type = '', targetOperationId: operationId = '' } = command.intent
    const typeNo = names.findOperationTypeNo(type)
    if (typeNo === undefined) continue
    const { tenantId, aggregateId } = command
    targets.push({ tenantId, type, typeNo, operationId, operationIdHex: idToHex(operationId), aggregateId })
  }
  return targets
}
