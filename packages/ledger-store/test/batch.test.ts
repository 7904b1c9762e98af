import { Bug, recordDigest } from '@onceledger/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Batch, recordOf, splitBatch } from '../src/batch.ts'
import { batchOf, commands } from './builders.ts'

/** Items at increasing offsets with gaps, as a compacted or transactional log has them. */
const batches = fc.array(fc.bigInt({ min: 1n, max: 5n }), { minLength: 2, maxLength: 30 }).map((gaps): Batch => {
  let offset = 10n
  const items = commands(gaps.length).map((item, i) => {
    if (item.kind !== 'command') throw new Error('commands only')
    offset += gaps[i] ?? 1n
    const record = { ...item.command.record, position: { ...item.command.record.position, offset }, value: Buffer.from(String(offset)) }
    return { kind: 'command', command: { ...item.command, record } } as const
  })
  const batch = batchOf(items, 10n)
  return { ...batch, source: { ...batch.source, nextOffset: offset + 3n, redelivery: true } }
})

describe('a split batch', () => {
  it('[ADJ-7] [ADJ-8] is two halves that follow each other without a gap and lose nothing', () => {
    fc.assert(
      fc.property(batches, (batch) => {
        const [head, tail] = splitBatch(batch)
        expect([...head.items, ...tail.items]).toEqual(batch.items)
        expect(Math.abs(head.items.length - tail.items.length)).toBeLessThanOrEqual(1)
        expect(head.source.expectedOffset).toBe(batch.source.expectedOffset)
        expect(tail.source.expectedOffset).toBe(head.source.nextOffset)
        expect(tail.source.nextOffset).toBe(batch.source.nextOffset)
        expect(tail.source.lastDigestHex).toBe(batch.source.lastDigestHex)
        const last = head.items.at(-1)
        if (last === undefined) throw new Error('an empty half')
        expect(head.source.nextOffset).toBe(recordOf(last).position.offset + 1n)
        expect(head.source.lastDigestHex).toBe(recordDigest(recordOf(last)).toString('hex'))
        for (const half of [head, tail])
          expect(half).toMatchObject({ buckets: batch.buckets, source: { redelivery: true, topic: 'topic', partition: 0 } })
      }),
    )
  })

  it.each([0, 1])('needs at least two messages, not %i', (count) => {
    expect(() => splitBatch(batchOf(commands(count)))).toThrow(Bug)
  })
})
