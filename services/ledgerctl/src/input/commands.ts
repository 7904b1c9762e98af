import type { OutgoingRecord } from '@onceledger/command-log'
import { type ContractRegistry, decodeRecord, routingKey } from '@onceledger/core'
import { bucketOfKey } from '@onceledger/shard-map'
import type { AwaitedCommand } from '../awaited-results.ts'
import { isBlank, readLines } from './lines.ts'

export interface RefusedLine {
  readonly line: number
  /** The code under which the shard would park it. */
  readonly reason: string
  readonly detail: string
}

/** One line that is not blank: a record ready to be sent to its partition, or why it is none. */
export type CheckedLine = (
  | { readonly kind: 'record'; readonly record: OutgoingRecord & { readonly partition: number }; readonly command: AwaitedCommand }
  | { readonly kind: 'refused'; readonly refused: RefusedLine }
) & { readonly endBytes: number }

export interface CheckOptions {
  readonly registry: ContractRegistry
  readonly bucketCount: number
}

/** Far above what the decoder takes: it gives the reason for all that is shorter. */
const LINE_BYTES_MAX = 1024 * 1024
const HEADERS = { 'content-type': 'application/cloudevents+json' }
const RECORD_HEADERS: readonly (readonly [string, Buffer])[] = [['content-type', Buffer.from(HEADERS['content-type'])]]

/** Reads NDJSON with the decoder that the shard uses, so that what passes here is not parked there for its form. */
export async function* readCommands(chunks: AsyncIterable<Buffer>, options: CheckOptions): AsyncGenerator<CheckedLine> {
  for await (const { no, bytes, endBytes } of readLines(chunks, LINE_BYTES_MAX)) {
    if (bytes === null) yield { ...refusedAt(no, 'TOO_LARGE', `the line is longer than ${LINE_BYTES_MAX} bytes`), endBytes }
    else if (!isBlank(bytes)) yield { ...checkLine(no, bytes, options), endBytes }
  }
}

function checkLine(no: number, value: Buffer, { registry, bucketCount }: CheckOptions) {
  // The route is computed here (RTE-1), so the decoder is told that the message stands where its key belongs.
  const decoded = decodeRecord(
    { position: { topic: '', partition: 0, offset: 0n }, key: null, value, headers: RECORD_HEADERS, timestampMs: 0n },
    { registry, bucketOf: () => 0 },
  )
  if (decoded.kind === 'refused') return refusedAt(no, decoded.parked.reason, decoded.parked.detail)
  const key = routingKey(decoded.command.tenantId, decoded.command.businessKey)
  const { contract, eventId, operationId } = decoded.command
  const type = `${contract.name}.v${contract.version}`
  const record = { key, value, headers: HEADERS, partition: bucketOfKey(key, bucketCount) }
  return { kind: 'record', record, command: { line: no, key, type, eventId, operationId } } as const
}

function refusedAt(line: number, reason: string, detail: string) {
  return { kind: 'refused', refused: { line, reason, detail } } as const
}
