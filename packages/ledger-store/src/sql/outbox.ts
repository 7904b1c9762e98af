import type { SourcePosition } from '@onceledger/core'
import type { Row } from '../session.ts'
import { bytesLiteral, textLiteral } from './literal.ts'

/** A result that waits to be acknowledged by its topic, with its place among the others of its partition. */
export interface OutboxRow {
  readonly sourceOffset: bigint
  readonly causeOffset: bigint
  /** 0 before the result of the message at `causeOffset`, 1 after it. */
  readonly phase: 0 | 1
  readonly key: Uint8Array | null
  readonly value: Uint8Array
}

type Partition = Pick<SourcePosition, 'topic' | 'partition'>

/** `rows` in the order in which they are to be published. */
export function insertOutbox({ topic, partition }: Partition, rows: readonly OutboxRow[], firstSeq = 0): string {
  const values = rows.map(
    (row, i) =>
      `(${textLiteral(topic)},${partition},${row.sourceOffset},${row.causeOffset},${row.phase},${firstSeq + i},${bytesLiteral(row.key)},` +
      `${bytesLiteral(row.value)})`,
  )
  return `INSERT INTO outbox (topic, partition_no, source_offset, cause_offset, phase, seq, result_key, result)
    VALUES ${values.join(',')}`
}

/** Several sweeps may stand before the same message. */
export function nextSeq({ topic, partition }: Partition, causeOffset: bigint): string {
  return `SELECT COALESCE(MAX(seq) + 1, 0)
    FROM outbox
    WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition} AND cause_offset = ${causeOffset}`
}

/** Acknowledged results. */
export function deleteOutbox({ topic, partition }: Partition, sourceOffsets: readonly bigint[]): string {
  return `DELETE FROM outbox
    WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition} AND source_offset IN (${sourceOffsets.join(',')})`
}

export function selectOutbox({ topic, partition }: Partition, rowsMax: number): string {
  return `SELECT source_offset, cause_offset, phase, result_key, result
    FROM outbox FORCE INDEX (place)
    WHERE topic = ${textLiteral(topic)} AND partition_no = ${partition}
    ORDER BY cause_offset, phase, seq
    LIMIT ${rowsMax}`
}

export function parseOutbox(rows: readonly Row[]): OutboxRow[] {
  return rows.map(([sourceOffset, causeOffset, phase, key, value]) => ({
    sourceOffset: BigInt(sourceOffset as string),
    causeOffset: BigInt(causeOffset as string),
    phase: Number(phase) === 0 ? 0 : 1,
    key: key as Buffer | null,
    value: value as Buffer,
  }))
}
