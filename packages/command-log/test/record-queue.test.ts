import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RecordQueue, recordSizeBytes } from '../src/record-queue.ts'
import { recordAt, recordsFrom } from './records.ts'

function offsetsOf(queue: RecordQueue, maxRecords = 1e6, maxBytes = 1e9): number[] {
  return queue.peek(maxRecords, maxBytes).map(({ position }) => Number(position.offset))
}

describe('record queue', () => {
  it('[ADJ-8] hands out the same records until their prefix is dropped', () => {
    const queue = new RecordQueue()
    queue.push(recordsFrom(0, 5))
    expect(offsetsOf(queue, 3)).toEqual([0, 1, 2])
    expect(offsetsOf(queue, 3)).toEqual([0, 1, 2])
    queue.dropBefore(2n)
    expect(offsetsOf(queue, 3)).toEqual([2, 3, 4])
  })

  it('[ADJ-8] a prefix that ends in a hole drops what lies before the hole', () => {
    const queue = new RecordQueue()
    queue.push([recordAt(3), recordAt(7), recordAt(8)])
    queue.dropBefore(5n)
    expect(offsetsOf(queue)).toEqual([7, 8])
  })

  it('keeps to the limit of bytes, but always gives one record', () => {
    const queue = new RecordQueue()
    queue.push([recordAt(0, 'x'.repeat(1000)), recordAt(1), recordAt(2)])
    expect(offsetsOf(queue, 10, 1)).toEqual([0])
    queue.dropBefore(1n)
    expect(offsetsOf(queue, 10, recordSizeBytes(recordAt(1)) * 2)).toEqual([1, 2])
    expect(offsetsOf(queue, 10, recordSizeBytes(recordAt(1)) * 2 - 1)).toEqual([1])
  })

  it('counts and orders like a plain array, whatever is pushed and dropped', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(1500), fc.nat(1500)), { maxLength: 8 }), (steps) => {
        const queue = new RecordQueue()
        let model: number[] = []
        let next = 0
        for (const [pushed, dropped] of steps) {
          queue.push(recordsFrom(next, next + pushed))
          model.push(...Array.from({ length: pushed }, (_, at) => next + at))
          next += pushed
          const until = (model[0] ?? next) + dropped
          queue.dropBefore(BigInt(until))
          model = model.filter((offset) => offset >= until)
          expect(queue.length).toBe(model.length)
          expect(offsetsOf(queue)).toEqual(model)
          expect(queue.sizeBytes).toBe(queue.peek(1e6, 1e9).reduce((sum, record) => sum + recordSizeBytes(record), 0))
        }
      }),
    )
  })
})
