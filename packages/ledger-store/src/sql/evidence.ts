import {
  type AuditWrite,
  type ParkedWrite,
  recordDigest,
  type SourcePosition,
  type SourceRecord,
  TENANT_ID_BYTES_MAX,
} from '@onceledger/core'
import type { Names } from '../names.ts'
import type { Row } from '../session.ts'
import { bytesLiteral, hexLiteral, textLiteral, utf8Literal } from './literal.ts'
import { headersText } from './record.ts'

const DETAIL_CHARACTERS_MAX = 1_000
const REASON_BYTES_MAX = 64
/** A refusal that may end by itself is worth another look after this long. */
const RETRY_AFTER_US = 60_000_000n

/** The same evidence seen again counts on its row and keeps the first position; nothing is lost by the upsert. */
export function insertAudits(rows: readonly AuditWrite[], names: Names, nowUs: bigint): string {
  const values = rows.map(({ command, kind, firstDigest, firstContractVersion, firstOperation }) => {
    const { topic, partition, offset } = command.record.position
    const operationId = command.operationIdHex === null ? "x''" : hexLiteral(command.operationIdHex)
    return (
      `('${kind}',${names.tenantNo(command.tenantId)},${names.consumerNo(command.contract.consumer)},${hexLiteral(command.aggregateId)},` +
      `${hexLiteral(command.eventIdHex)},${hexLiteral(command.digest)},${names.operationTypeNo(command.contract.name)},` +
      `${command.contract.version},${operationId},${textLiteral(command.businessKey)},${utf8Literal(JSON.stringify(command.intent))},` +
      `${firstOperation === null ? 'NULL' : textLiteral(firstOperation)},${firstContractVersion},` +
      `${firstDigest === null ? 'NULL' : hexLiteral(firstDigest)},${textLiteral(topic)},${partition},${offset},${nowUs},${nowUs})`
    )
  })
  return `INSERT INTO conflict_audit (kind, tenant_no, consumer_no, aggregate_id, event_id, digest, operation_type_no,
      contract_version, operation_id, business_key, intent,
      first_operation, first_contract_version,
      first_digest, topic, partition_no, source_offset, recorded_at, last_seen_at)
    VALUES ${values.join(',')} AS seen
    ON DUPLICATE KEY UPDATE
      last_seen_at = seen.last_seen_at,
      seen_count = conflict_audit.seen_count + 1`
}

/** A message at its position is parked once: met again (a redelivery), its row counts the attempt. A recreated topic's is another message. */
export function insertParked(rows: readonly ParkedWrite[], nowUs: bigint): string {
  const values = rows.map(({ record, tenantId, reason, detail, retryable }) => {
    const { topic, partition, offset } = record.position
    return (
      `(${textLiteral(topic)},${partition},${offset},${bytesLiteral(recordDigest(record))},${textLiteral(reason.slice(0, REASON_BYTES_MAX))},${utf8Literal(detail.slice(0, DETAIL_CHARACTERS_MAX).toWellFormed())},` +
      `${tenantLiteral(tenantId)},${retryable ? 1 : 0},${retryable ? nowUs + RETRY_AFTER_US : 'NULL'},` +
      `${bytesLiteral(record.key)},${bytesLiteral(record.value)},${textLiteral(headersText(record.headers))},${record.timestampMs},${nowUs},${attemptOf(record)})`
    )
  })
  return `INSERT INTO parked (topic, partition_no, source_offset, record_digest, reason, detail,
      tenant_id, retryable, retry_at,
      record_key, record_value, headers, record_time, parked_at, attempts)
    VALUES ${values.join(',')}
    ON DUPLICATE KEY UPDATE attempts = parked.attempts + 1`
}

/** Set by a replay: how often the message had been judged before. */
export const ATTEMPTS_HEADER = 'onceledger-parked-attempts'
const ATTEMPTS = /^[1-9]\d{0,8}$/

/** It says something to a person and decides nothing, so it does not matter that a sender could set it. */
function attemptOf({ headers }: SourceRecord): number {
  const before = headers.findLast(([name]) => name === ATTEMPTS_HEADER)
  const text = before === undefined ? '' : Buffer.from(before[1]).toString('latin1')
  return ATTEMPTS.test(text) ? Number(text) + 1 : 1
}

/** A parked message may claim a tenant that no tenant can be called; its bytes still say so. */
function tenantLiteral(tenantId: string | null): string {
  return tenantId === null || Buffer.byteLength(tenantId) > TENANT_ID_BYTES_MAX ? 'NULL' : textLiteral(tenantId)
}

/** What was parked at these places, by the digest of the message too: a topic created anew has other messages there. */
export function selectParkedAt({ topic, partition }: Pick<SourcePosition, 'topic' | 'partition'>, offsets: readonly bigint[]): string {
  return `SELECT source_offset, record_digest, reason
    FROM parked FORCE INDEX (source)
    WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition} AND source_offset IN (${offsets.join(',')})`
}

export function parkedKey(offset: bigint, recordDigestHex: string): string {
  return `${offset}/${recordDigestHex}`
}

export function parseParkedAt(rows: readonly Row[]): Map<string, string> {
  return new Map(
    rows.map(([offset, digest, reason]) => [
      parkedKey(BigInt(offset as string), (digest as Buffer).toString('hex')),
      (reason as Buffer).toString('utf8'),
    ]),
  )
}
