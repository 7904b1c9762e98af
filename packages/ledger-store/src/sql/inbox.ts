import {
  type Command,
  type EventReason,
  type EventWrite,
  eventKeyOf,
  idFromBytes,
  operationReference,
  type PostingWrite,
  type StoredEvent,
} from '@onceledger/core'
import { reasonCode, reasonFromCode, rejectionFromCode, verdictCode, verdictFromCode } from '../codes.ts'
import type { Names } from '../names.ts'
import type { Row } from '../session.ts'
import { currencyLiteral, hexLiteral } from './literal.ts'

/** One lookup for each event, by the whole key but its day: an id without a time may have been processed on an earlier day. */
export function selectEvents(commands: readonly Command[], names: Names): string {
  const values = commands.map((command, i) => `ROW(${i},${keyLiterals(command, names)})`)
  return `SELECT wanted.i, e.contract_version, e.verdict, e.reason, e.operation_type_no, e.operation_id, e.payload_digest,
      e.currency, e.amount, e.account_version, e.balance_after, e.processed_at, e.source_offset
    FROM (VALUES ${values.join(',')}) AS wanted (i, tenant_no, consumer_no, event_id, aggregate_id)
    STRAIGHT_JOIN inbox AS e FORCE INDEX (PRIMARY)
      ON e.tenant_no = wanted.tenant_no AND e.consumer_no = wanted.consumer_no
        AND e.event_id = wanted.event_id AND e.aggregate_id = wanted.aggregate_id`
}

function keyLiterals(command: Command, names: Names): string {
  return `${names.tenantNo(command.tenantId)},${names.consumerNo(command.contract.consumer)},${hexLiteral(command.eventIdHex)},${hexLiteral(command.aggregateId)}`
}

export function parseEvents(rows: readonly Row[], commands: readonly Command[], names: Names): Map<string, StoredEvent> {
  const events = new Map<string, StoredEvent>()
  for (const row of rows) {
    const command = commands[Number(row[0])]
    if (command === undefined) continue
    const operationId = row[5] as Buffer | null
    const type = names.operationTypeName(Number(row[4])) ?? String(row[4])
    events.set(eventKeyOf(command), {
      contractVersion: Number(row[1]),
      verdict: verdictFromCode(Number(row[2])),
      operation: operationId === null ? null : operationReference(type, idFromBytes(operationId)),
      digest: row[6] === null ? null : (row[6] as Buffer).toString('hex'),
      result: parseEventResult(row),
    })
  }
  return events
}

/** Where an event's row came from, and why it has its verdict. */
export function parseEventSources(
  rows: readonly Row[],
  commands: readonly Command[],
): Map<string, { readonly offset: bigint | null; readonly reason: EventReason | null }> {
  const sources = new Map<string, { offset: bigint | null; reason: EventReason | null }>()
  for (const row of rows) {
    const command = commands[Number(row[0])]
    if (command === undefined) continue
    const offset = row[12] === null ? null : BigInt(row[12] as string)
    sources.set(eventKeyOf(command), { offset, reason: reasonFromCode(Number(row[3])) })
  }
  return sources
}

/** Null where the contract is judged by operation, whose row has the result, and where the event was refused for its place in a sequence. */
function parseEventResult(row: Row): StoredEvent['result'] {
  const verdict = verdictFromCode(Number(row[2]))
  if (row[6] === null || (verdict !== 'APPLIED' && verdict !== 'REJECTED')) return null
  return {
    verdict,
    reason: rejectionFromCode(Number(row[3])),
    currency: row[7] === null ? null : (row[7] as Buffer).toString('latin1'),
    amountMinor: BigInt((row[8] as string | null) ?? 0),
    accountVersion: BigInt((row[9] as string | null) ?? 0),
    balanceAfterMinor: BigInt((row[10] as string | null) ?? 0),
    committedAtUs: BigInt(row[11] as string),
  }
}

export function insertEvents(rows: readonly EventWrite[], names: Names, processedAtUs: bigint): string {
  const values = rows.map(({ command, eventDay, verdict, reason, result }) => {
    const operationId = command.operationIdHex === null ? 'NULL' : hexLiteral(command.operationIdHex)
    const digest = command.contract.identity === 'event' ? hexLiteral(command.digest) : 'NULL'
    const first =
      result === null
        ? 'NULL,NULL,NULL,NULL'
        : `${currencyLiteral(result.currency)},${result.amountMinor},${result.accountVersion},${result.balanceAfterMinor}`
    return (
      `(${keyLiterals(command, names)},${eventDay},${command.contract.version},${verdictCode(verdict)},${reasonCode(reason)},` +
      `${command.bucket},${names.operationTypeNo(command.contract.name)},${operationId},${digest},${first},` +
      `${command.record.position.offset},${processedAtUs})`
    )
  })
  return `INSERT INTO inbox (tenant_no, consumer_no, event_id, aggregate_id, event_day, contract_version, verdict, reason,
      bucket, operation_type_no, operation_id, payload_digest, currency, amount, account_version, balance_after,
      source_offset, processed_at)
    VALUES ${values.join(',')}`
}

export function insertPostings(rows: readonly PostingWrite[], names: Names): string {
  const values = rows.map(
    ({ command, result }) =>
      `(${hexLiteral(command.aggregateId)},${currencyLiteral(result.currency)},${result.accountVersion},${names.tenantNo(command.tenantId)},` +
      `${names.consumerNo(command.contract.consumer)},${hexLiteral(command.eventIdHex)},${command.bucket},${result.amountMinor},` +
      `${result.balanceAfterMinor},${result.committedAtUs})`,
  )
  return `INSERT INTO posting (aggregate_id, currency, account_version, tenant_no,
      consumer_no, event_id, bucket, amount,
      balance_after, committed_at)
    VALUES ${values.join(',')}`
}
