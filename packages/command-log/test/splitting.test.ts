import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitRequests } from '../src/producer.ts'

describe('requests of the producer', () => {
  it('keep all records in order and stay within the limit', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 60 })), (values) => {
        const requests = splitRequests(
          values.map((value) => ({ key: null, value })),
          300,
        )
        expect(requests.flat().map(({ value }) => value?.toString())).toEqual(values)
        for (const request of requests) {
          expect(request.reduce((sum, { value }) => sum + 32 + Buffer.byteLength(value ?? ''), 0)).toBeLessThanOrEqual(300)
        }
      }),
    )
  })

  it('a record larger than a request is refused before anything is sent', () => {
    const records = [
      { key: 'a', value: 'small' },
      { key: 'b', value: 'x'.repeat(400) },
    ]
    expect(() => splitRequests(records, 300)).toThrow(expect.objectContaining({ code: 'RECORD_TOO_LARGE' }))
  })
})
