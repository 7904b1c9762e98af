import { type AggregateId, type Command, type DeferralWrite, deferredKeyOf, type SourcePosition, type SourceRecord } from '@onceledger/core'
import type { Names } from '../names.ts'
import type { Row } from '../session.ts'
import { bytesLiteral, hexLiteral, textLiteral } from './literal.ts'
import { headersText, parseHeaders } from './record.ts'

/** A row of `deferred` without its payload. */
export interface DeferredKey {
  readonly aggregateIdHex: AggregateId
  readonly version: bigint
  readonly consumerNo: number
  readonly eventIdHex: string
  /** Empty where the event judges. */
  readonly operationIdHex: string
  readonly digest: string
  readonly sizeBytes: number
}

/** How far one business key's candidates are looked for. */
export interface DueRange {
  readonly aggregateId: AggregateId
  readonly upTo: bigint
}

const KEY = 'aggregate_id, version, consumer_no, event_id, operation_id, digest'
const ROW_KEY = 'd.aggregate_id, d.version, d.consumer_no, d.event_id, d.operation_id, d.digest'
const SIZE = 'COALESCE(OCTET_LENGTH(d.record_value), 0) + OCTET_LENGTH(d.headers)'

/** Rows whose turn might come, per business key the lowest versions first. */
export function selectDue(ranges: readonly DueRange[], rowsMax: number): string {
  const values = ranges.map(({ aggregateId, upTo }) => `ROW(${hexLiteral(aggregateId)},${upTo})`)
  return `SELECT due.aggregate_id, due.version, due.consumer_no, due.event_id, due.operation_id, due.digest, due.size_bytes
    FROM (VALUES ${values.join(',')}) AS wanted (aggregate_id, up_to)
    JOIN LATERAL (
      SELECT ${ROW_KEY}, ${SIZE} AS size_bytes
      FROM deferred AS d FORCE INDEX (PRIMARY)
      WHERE d.aggregate_id = wanted.aggregate_id AND d.version <= wanted.up_to
      ORDER BY d.version
      LIMIT ${rowsMax}
    ) AS due`
}

/** Business keys of a bucket whose next command waits although nothing will bring its turn about: a bounded transaction left it over. */
export function selectLeftOver(bucket: number, keysMax: number): string {
  return `SELECT d.aggregate_id, MAX(h.version)
    FROM deferred AS d FORCE INDEX (age)
    STRAIGHT_JOIN sequence_head AS h ON h.aggregate_id = d.aggregate_id
    WHERE d.bucket = ${bucket} AND d.version <= h.version + 1
    GROUP BY d.aggregate_id
    ORDER BY d.aggregate_id
    LIMIT ${keysMax}`
}

export function parseLeftOver(rows: readonly Row[], reach: number): DueRange[] {
  return rows.map(([aggregateId, head]) => ({
    aggregateId: (aggregateId as Buffer).toString('hex') as AggregateId,
    upTo: BigInt(head as string) + BigInt(reach),
  }))
}

/** Rows of a bucket that wait since before a time, the oldest first. */
export function selectOld(bucket: number, beforeUs: bigint, rowsMax: number): string {
  return `SELECT ${ROW_KEY}, ${SIZE}
    FROM deferred AS d FORCE INDEX (age)
    WHERE d.bucket = ${bucket} AND d.deferred_at < ${beforeUs}
    ORDER BY d.deferred_at
    LIMIT ${rowsMax}`
}

export function parseKeys(rows: readonly Row[]): DeferredKey[] {
  return rows.map(([aggregateId, version, consumerNo, eventId, operationId, digest, sizeBytes]) => ({
    aggregateIdHex: (aggregateId as Buffer).toString('hex') as AggregateId,
    version: BigInt(version as string),
    consumerNo: Number(consumerNo),
    eventIdHex: (eventId as Buffer).toString('hex'),
    operationIdHex: (operationId as Buffer).toString('hex'),
    digest: (digest as Buffer).toString('hex'),
    sizeBytes: Number(sizeBytes),
  }))
}

function keyLiteral(key: Omit<DeferredKey, 'sizeBytes'>): string {
  const { aggregateIdHex, version, consumerNo, eventIdHex, operationIdHex, digest } = key
  return `${hexLiteral(aggregateIdHex)},${version},${consumerNo},${hexLiteral(eventIdHex)},${hexLiteral(operationIdHex)},${hexLiteral(digest)}`
}

function keyOf(command: Command, names: Names): Omit<DeferredKey, 'sizeBytes'> {
  return {
    aggregateIdHex: command.aggregateId,
    version: command.aggregateVersion ?? 0n,
    consumerNo: names.consumerNo(command.contract.consumer),
    eventIdHex: command.eventIdHex,
    operationIdHex: command.operationIdHex ?? '',
    digest: command.digest,
  }
}

/** A message that waits, as it came. */
export interface DeferredRow {
  /** Place in the list of keys that were asked for. */
  readonly keyNo: number
  readonly record: SourceRecord
  readonly deferredAtUs: bigint
}

export function selectPayloads(keys: readonly DeferredKey[]): string {
  return `SELECT wanted.i, d.topic, d.partition_no, d.source_offset, d.record_key, d.record_value, d.headers, d.record_time, d.deferred_at
    FROM (VALUES ${keys.map((key, i) => `ROW(${i},${keyLiteral(key)})`).join(',')}) AS wanted (i, ${KEY})
    STRAIGHT_JOIN deferred AS d FORCE INDEX (PRIMARY)
      ON d.aggregate_id = wanted.aggregate_id AND d.version = wanted.version
        AND d.consumer_no = wanted.consumer_no AND d.event_id = wanted.event_id
        AND d.operation_id = wanted.operation_id AND d.digest = wanted.digest`
}

export function parsePayloads(rows: readonly Row[]): DeferredRow[] {
  return rows.map((row) => ({
    keyNo: Number(row[0]),
    record: {
      position: { topic: (row[1] as Buffer).toString('utf8'), partition: Number(row[2]), offset: BigInt(row[3] as string) },
      key: row[4] as Buffer | null,
      value: row[5] as Buffer | null,
      headers: parseHeaders(row[6] as Buffer),
      timestampMs: BigInt(row[7] as string),
    },
    deferredAtUs: BigInt(row[8] as string),
  }))
}

/** Which of these commands wait already. */
export function selectWaiting(commands: readonly Command[], names: Names): string {
  const values = commands.map((command, i) => `ROW(${i},${keyLiteral(keyOf(command, names))})`)
  return `SELECT wanted.i
    FROM (VALUES ${values.join(',')}) AS wanted (i, ${KEY})
    STRAIGHT_JOIN deferred AS d FORCE INDEX (PRIMARY)
      ON d.aggregate_id = wanted.aggregate_id AND d.version = wanted.version
        AND d.consumer_no = wanted.consumer_no AND d.event_id = wanted.event_id
        AND d.operation_id = wanted.operation_id AND d.digest = wanted.digest`
}

export function parseWaiting(rows: readonly Row[], commands: readonly Command[]): Set<string> {
  return new Set(rows.flatMap(([i]) => (commands[Number(i)] === undefined ? [] : [deferredKeyOf(commands[Number(i)] as Command)])))
}

/** Which messages of these places wait. */
export function selectDeferredSources(
  { topic, partition }: Pick<SourcePosition, 'topic' | 'partition'>,
  offsets: readonly bigint[],
): string {
  return `SELECT source_offset
    FROM deferred FORCE INDEX (source)
    WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition} AND source_offset IN (${offsets.join(',')})`
}

export function parseSources(rows: readonly Row[]): Set<bigint> {
  return new Set(rows.map(([offset]) => BigInt(offset as string)))
}

/** Payload and all, in the transaction that lets the offset pass (ORD-2). */
export function insertDeferred(rows: readonly DeferralWrite[], names: Names, nowUs: bigint): string {
  const values = rows.map(({ command, eventDay }) => {
    const { topic, partition, offset } = command.record.position
    return (
      `(${keyLiteral(keyOf(command, names))},${names.tenantNo(command.tenantId)},${names.operationTypeNo(command.contract.name)},` +
      `${command.contract.version},${command.bucket},${eventDay},` +
      `${textLiteral(topic)},${partition},${offset},${bytesLiteral(command.record.key)},${bytesLiteral(command.record.value)},` +
      `${textLiteral(headersText(command.record.headers))},${command.record.timestampMs},${nowUs})`
    )
  })
  return `INSERT INTO deferred (${KEY}, tenant_no, operation_type_no,
      contract_version, bucket, event_day,
      topic, partition_no, source_offset, record_key, record_value,
      headers, record_time, deferred_at)
    VALUES ${values.join(',')}`
}

/** The caller guards the count of rows: a command that has its verdict waits no more. */
export function deleteDeferred(commands: readonly Command[], names: Names): string {
  return deleteKeys(commands.map((command) => keyOf(command, names)))
}

export function deleteKeys(keys: readonly Omit<DeferredKey, 'sizeBytes'>[]): string {
  return `DELETE d
    FROM (VALUES ${keys.map((key) => `ROW(${keyLiteral(key)})`).join(',')}) AS done (${KEY})
    STRAIGHT_JOIN deferred AS d FORCE INDEX (PRIMARY)
      ON d.aggregate_id = done.aggregate_id AND d.version = done.version
        AND d.consumer_no = done.consumer_no AND d.event_id = done.event_id
        AND d.operation_id = done.operation_id AND d.digest = done.digest`
}
