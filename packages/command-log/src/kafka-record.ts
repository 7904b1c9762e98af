import type { SourceRecord } from '@onceledger/core'
import type { IHeaders, KafkaMessage } from 'kafkajs'

const NO_HEADERS: SourceRecord['headers'] = []

/** The message as the log holds it, as the core reads it: bytes stay bytes. */
export function sourceRecordOf(topic: string, partition: number, message: KafkaMessage): SourceRecord {
  return {
    position: { topic, partition, offset: BigInt(message.offset) },
    key: message.key,
    value: message.value,
    headers: headersOf(message.headers),
    timestampMs: BigInt(message.timestamp),
  }
}

/** A name given twice arrives as a list; the order between different names is the client's. */
function headersOf(headers: IHeaders | undefined): SourceRecord['headers'] {
  if (headers === undefined) return NO_HEADERS
  const pairs: [string, Uint8Array][] = []
  for (const name in headers) {
    const given = headers[name]
    for (const value of Array.isArray(given) ? given : [given]) {
      pairs.push([name, typeof value === 'string' ? Buffer.from(value, 'utf8') : (value ?? Buffer.alloc(0))])
    }
  }
  return pairs.length === 0 ? NO_HEADERS : pairs
}
