import type { PlacedRecord } from '@onceledger/command-log'
import type { EncodedResult } from '@onceledger/core'
import type { DerivedResult } from '@onceledger/ledger-store'

const SCRATCH_BYTES = 256 * 1024
/** UTF-8 needs at most three bytes for a UTF-16 code unit. */
const BYTES_PER_UNIT_MAX = 3
const NO_KEY = 0xffffffff

let scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

/**
 * Results that wait, as bytes in one piece outside of V8's heap: thousands of strings that live for some milliseconds each would be copied by every
 * collection meanwhile.
 */
export class PackedResults {
  readonly #bytes: Buffer
  /** Of each result: where its key ends, or `NO_KEY`, and where its value ends. */
  readonly #ends: Uint32Array
  /** Messages whose result has a row in the outbox. */
  readonly outbox: readonly bigint[]

  private constructor(bytes: Buffer, ends: Uint32Array, outbox: readonly bigint[]) {
    this.#bytes = bytes
    this.#ends = ends
    this.outbox = outbox
  }

  get count(): number {
    return this.#ends.length / 2
  }

  /** @param encode gives each item's result; `outboxOf` the message that it answers where it has a row in the outbox. */
  static of<T>(
    items: readonly T[],
    encode: (item: T) => EncodedResult | DerivedResult,
    outboxOf: (item: T) => bigint | null,
  ): PackedResults {
    const ends = new Uint32Array(items.length * 2)
    const outbox: bigint[] = []
    let at = 0
    for (const [i, item] of items.entries()) {
      const { key, value } = encode(item)
      const keyEnd = key === null ? at : write(at, key)
      ends[2 * i] = key === null ? NO_KEY : keyEnd
      at = write(keyEnd, value)
      ends[2 * i + 1] = at
      const waited = outboxOf(item)
      if (waited !== null) outbox.push(waited)
    }
    const bytes = Buffer.allocUnsafeSlow(at)
    scratch.copy(bytes, 0, 0, at)
    return new PackedResults(bytes, ends, outbox)
  }

  /** The records, as views of the bytes. */
  records(partition: number): PlacedRecord[] {
    const records: PlacedRecord[] = []
    let at = 0
    for (let i = 0; i < this.#ends.length; i += 2) {
      const keyEnd = this.#ends[i] ?? 0
      const end = this.#ends[i + 1] ?? 0
      const valueAt = keyEnd === NO_KEY ? at : keyEnd
      records.push({
        partition,
        key: keyEnd === NO_KEY ? null : this.#bytes.subarray(at, keyEnd),
        value: this.#bytes.subarray(valueAt, end),
      })
      at = end
    }
    return records
  }
}

/** @returns where it ends. */
function write(at: number, part: string | Uint8Array): number {
  const room = typeof part === 'string' ? part.length * BYTES_PER_UNIT_MAX : part.length
  if (at + room > scratch.length) {
    const larger = Buffer.allocUnsafeSlow(Math.max(scratch.length * 2, at + room))
    scratch.copy(larger, 0, 0, at)
    scratch = larger
  }
  if (typeof part === 'string') return at + scratch.write(part, at, 'utf8')
  scratch.set(part, at)
  return at + part.length
}
