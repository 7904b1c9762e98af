import {
  type AggregateId,
  type Command,
  CorruptData,
  idFromBytes,
  idToHex,
  operationReference,
  type SequenceWrite,
  type StepWrite,
  stepKey,
} from '@onceledger/core'
import type { Names } from '../names.ts'
import type { Row } from '../session.ts'
import { hexLiteral, textLiteral } from './literal.ts'

/** Locks the heads of the batch's sequences, in the order given, which must be that of the key. */
export function lockHeads(aggregates: readonly Command[]): string {
  const values = aggregates.map(({ aggregateId }) => `ROW(${hexLiteral(aggregateId)})`)
  return `SELECT h.aggregate_id, h.tenant_no, h.business_key, h.version
    FROM (VALUES ${values.join(',')}) AS wanted (aggregate_id)
    STRAIGHT_JOIN sequence_head AS h FORCE INDEX (PRIMARY)
      ON h.aggregate_id = wanted.aggregate_id
    FOR UPDATE OF h`
}

/** @throws CorruptData when a row's names are not those that its key was derived from. */
export function parseHeads(rows: readonly Row[], aggregates: readonly Command[], names: Names): Map<AggregateId, bigint> {
  const owners = new Map(aggregates.map((command) => [command.aggregateId, command]))
  const heads = new Map<AggregateId, bigint>()
  for (const [id, tenantNo, businessKey, version] of rows) {
    const aggregateId = (id as Buffer).toString('hex') as AggregateId
    const owner = owners.get(aggregateId)
    const matches =
      owner !== undefined &&
      Number(tenantNo) === names.tenantNo(owner.tenantId) &&
      (businessKey as Buffer).equals(Buffer.from(owner.businessKey, 'utf8'))
    if (!matches) throw new CorruptData('SEQUENCE_CORRUPT', `the stored sequence ${aggregateId} names another tenant or key`)
    heads.set(aggregateId, BigInt(version as string))
  }
  return heads
}

export function insertHeads(rows: readonly SequenceWrite[], names: Names): string {
  const values = rows.map(
    (row) =>
      `(${hexLiteral(row.aggregateId)},${names.tenantNo(row.tenantId)},${textLiteral(row.businessKey)},${row.bucket},${row.version})`,
  )
  return `INSERT INTO sequence_head (aggregate_id, tenant_no, business_key, bucket, version)
    VALUES ${values.join(',')}`
}

/** The version before is compared too; the caller guards the count of rows. */
export function updateHeads(rows: readonly SequenceWrite[]): string {
  const values = rows.map((row) => `ROW(${hexLiteral(row.aggregateId)},${row.versionBefore},${row.version})`)
  return `UPDATE (VALUES ${values.join(',')}) AS next (aggregate_id, version_before, version)
    STRAIGHT_JOIN sequence_head AS h FORCE INDEX (PRIMARY)
      ON h.aggregate_id = next.aggregate_id AND h.version = next.version_before
    SET h.version = next.version`
}

/** Who took the versions that these commands claim. */
export function selectSteps(commands: readonly Command[]): string {
  const values = commands.map((command, i) => `ROW(${i},${hexLiteral(command.aggregateId)},${command.aggregateVersion ?? 0n})`)
  return `SELECT wanted.i, s.operation_type_no, s.identity
    FROM (VALUES ${values.join(',')}) AS wanted (i, aggregate_id, version)
    STRAIGHT_JOIN sequence_step AS s FORCE INDEX (PRIMARY)
      ON s.aggregate_id = wanted.aggregate_id AND s.version = wanted.version`
}

export function parseSteps(rows: readonly Row[], commands: readonly Command[], names: Names): Map<string, string> {
  const steps = new Map<string, string>()
  for (const [i, typeNo, identity] of rows) {
    const command = commands[Number(i)]
    if (command === undefined) continue
    const type = names.operationTypeName(Number(typeNo)) ?? String(typeNo)
    const key = stepKey(command.aggregateId, command.aggregateVersion ?? 0n)
    steps.set(key, operationReference(type, idFromBytes(identity as Buffer)))
  }
  return steps
}

/** The key lets each version be taken once. */
export function insertSteps(rows: readonly StepWrite[], names: Names): string {
  const values = rows.map(({ command, version }) => {
    const identity = command.operationIdHex ?? idToHex(command.eventId)
    return `(${hexLiteral(command.aggregateId)},${version},${names.operationTypeNo(command.contract.name)},${hexLiteral(identity)})`
  })
  return `INSERT INTO sequence_step (aggregate_id, version, operation_type_no, identity)
    VALUES ${values.join(',')}`
}
