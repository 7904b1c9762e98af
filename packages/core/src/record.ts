import { createHash } from 'node:crypto'

/** A place in a log (IDN-1): says where a message stood, never what it meant. */
export interface SourcePosition {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** One message as a log or a file delivered it: bytes only, nothing decoded. */
export interface SourceRecord {
  readonly position: SourcePosition
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers: readonly (readonly [name: string, value: Uint8Array])[]
  readonly timestampMs: bigint
}

/**
 * SHA-256 over a record's key, value, headers and timestamp, each length-prefixed. Stored beside the applied offset, so that a topic
 * that was deleted and created again is noticed although its offsets look plausible.
 * @returns 32 bytes.
 */
export function recordDigest(record: SourceRecord): Buffer {
  const hash = createHash('sha256')
  const add = (part: Uint8Array | null): void => {
    const length = Buffer.alloc(5)
    length.writeUInt8(part === null ? 0 : 1, 0)
    length.writeUInt32BE(part?.byteLength ?? 0, 1)
    hash.update(length)
    if (part !== null) hash.update(part)
  }
  add(record.key)
  add(record.value)
  for (const [name, value] of record.headers) {
    add(Buffer.from(name, 'utf8'))
    add(value)
  }
  const time = Buffer.alloc(8)
  time.writeBigInt64BE(record.timestampMs)
  return hash.update(time).digest()
}
