import type { SourceRecord } from '@onceledger/core'

/** What a queued record costs besides its key and value: its objects, two bigints, a few headers. Estimated for V8. */
const RECORD_OVERHEAD_BYTES = 512
const COMPACT_AFTER = 1024

/** Bytes that a record is counted with against the limits. */
export function recordSizeBytes(record: SourceRecord): number {
  return RECORD_OVERHEAD_BYTES + (record.key?.byteLength ?? 0) + (record.value?.byteLength ?? 0)
}

/** Records of one partition in delivered order. They stay until their prefix is dropped, so the same ones can be handed out again. */
export class RecordQueue {
  #records: SourceRecord[] = []
  #head = 0
  #sizeBytes = 0

  get length(): number {
    return this.#records.length - this.#head
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  push(records: readonly SourceRecord[]): void {
    for (const record of records) {
      this.#records.push(record)
      this.#sizeBytes += recordSizeBytes(record)
    }
  }

  /** The first records within both limits, at least one if there is any. */
  peek(maxRecords: number, maxBytes: number): SourceRecord[] {
    const end = Math.min(this.#records.length, this.#head + maxRecords)
    let sizeBytes = 0
    let at = this.#head
    for (; at < end; at++) {
      const record = this.#records[at]
      if (record === undefined) break
      sizeBytes += recordSizeBytes(record)
      if (sizeBytes > maxBytes && at > this.#head) break
    }
    return this.#records.slice(this.#head, at)
  }

  /** Drops the records before the offset: the contiguous finished prefix, in delivered order. */
  dropBefore(nextOffset: bigint): void {
    while (this.#head < this.#records.length) {
      const record = this.#records[this.#head]
      if (record === undefined || record.position.offset >= nextOffset) break
      this.#sizeBytes -= recordSizeBytes(record)
      this.#head += 1
    }
    if (this.#head === this.#records.length) {
      this.#records = []
      this.#head = 0
    } else if (this.#head >= COMPACT_AFTER) {
      this.#records = this.#records.slice(this.#head)
      this.#head = 0
    }
  }

  clear(): void {
    this.#records = []
    this.#head = 0
    this.#sizeBytes = 0
  }
}
