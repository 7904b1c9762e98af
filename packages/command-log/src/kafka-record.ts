import { Bug, type SourceRecord } from '@onceledger/core'
import type { IHeaders, KafkaMessage } from 'kafkajs'

const NO_HEADERS: SourceRecord['headers'] = []

/**
 * The messages of one partition as the core reads them: bytes stay bytes. Keys and values are copied into one buffer, since kafkajs's are
 * slices of the whole answer of a fetch: one waiting record would keep 8 MiB in memory.
 */
export function sourceRecordsOf(topic: string, partition: number, messages: readonly KafkaMessage[]): SourceRecord[] {
  let sizeBytes = 0
  for (const { key, value } of messages) sizeBytes += (key?.length ?? 0) + (value?.length ?? 0)
  const slab = Buffer.allocUnsafeSlow(sizeBytes)
  let end = 0
  const copy = (bytes: Buffer | null): Buffer | null => {
    if (bytes === null) return null
    const start = end
    end += bytes.copy(slab, start)
    return slab.subarray(start, end)
  }
  let headers = NO_HEADERS
  return messages.map((message) => {
    if (!isSameHeaders(headers, message.headers)) headers = headersOf(message.headers)
    return {
      position: { topic, partition, offset: BigInt(message.offset) },
      key: copy(message.key),
      value: copy(message.value),
      headers,
      timestampMs: BigInt(message.timestamp),
    }
  })
}

/** Neighbours mostly carry the same headers, and then share one list: it saves more memory than any other part of a waiting record. */
function isSameHeaders(known: SourceRecord['headers'], given: IHeaders | undefined): boolean {
  let count = 0
  for (const name in given) {
    const [knownName, knownValue] = known[count++] ?? []
    const value = given[name]
    if (knownName !== name || knownValue === undefined || !Buffer.isBuffer(value) || !value.equals(knownValue)) return false
  }
  return count === known.length
}

/**
 * The offset that the fetch of a batch asked for. kafkajs 2.2.4 keeps it but leaves it out of its types, which is why its version is
 * pinned; without it an answer from before a seek could not be told from one after.
 * @throws Bug if kafkajs does not tell it.
 */
export function fetchedOffsetOf(batch: object): bigint {
  if ('fetchedOffset' in batch && typeof batch.fetchedOffset === 'string') return BigInt(batch.fetchedOffset)
  throw new Bug('this version of kafkajs does not tell the offset that a batch was fetched from')
}

/** A name given twice arrives as a list; the order between different names is the client's. */
function headersOf(headers: IHeaders | undefined): SourceRecord['headers'] {
  if (headers === undefined) return NO_HEADERS
  const pairs: [string, Uint8Array][] = []
  for (const name in headers) {
    const given = headers[name]
    for (const value of Array.isArray(given) ? given : [given]) pairs.push([name, Buffer.from(value ?? '')])
  }
  return pairs.length === 0 ? NO_HEADERS : pairs
}
