import type { SourceRecord } from '@onceledger/core'

export const TOPIC = 'commands'

export function recordAt(offset: bigint | number, value = `value-${offset}`, partition = 0): SourceRecord {
  return {
    position: { topic: TOPIC, partition, offset: BigInt(offset) },
    key: null,
    value: Buffer.from(value),
    headers: [],
    timestampMs: 1_700_000_000_000n,
  }
}

export function recordsFrom(from: number, to: number, partition = 0): SourceRecord[] {
  return Array.from({ length: to - from }, (_, at) => recordAt(from + at, `value-${from + at}`, partition))
}
