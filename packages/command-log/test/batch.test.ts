import { describe, expect, it } from 'vitest'
import { backoffMs } from '../src/backoff.ts'
import { type HandleOutcome, requireValidOutcome } from '../src/batch.ts'
import { recordAt, TOPIC } from './records.ts'

/** From 10; offsets 10 and 12 are holes. */
const BATCH = { topic: TOPIC, partition: 0, expectedOffset: 10n, records: [recordAt(11), recordAt(13)] }

describe('the outcome of a batch', () => {
  it.each<HandleOutcome>([
    { kind: 'done', nextOffset: 10n },
    { kind: 'done', nextOffset: 12n },
    { kind: 'done', nextOffset: 14n },
    { kind: 'seek', nextOffset: 0n, lastDigest: null },
    { kind: 'seek', nextOffset: 1000n, lastDigest: null },
    { kind: 'pause', retryAfterMs: 1, reason: 'x' },
  ])('is taken: %o', (outcome) => {
    expect(requireValidOutcome(BATCH, outcome)).toBe(outcome)
  })

  it.each<HandleOutcome>([
    { kind: 'done', nextOffset: 9n },
    { kind: 'done', nextOffset: 15n },
    { kind: 'seek', nextOffset: -1n, lastDigest: null },
  ])('[ADJ-8] is refused when it would skip or repeat: %o', (outcome) => {
    expect(() => requireValidOutcome(BATCH, outcome)).toThrow(expect.objectContaining({ code: 'OUTCOME_INVALID' }))
  })
})

describe('back-off', () => {
  it('[ADJ-4] grows and stays bounded', () => {
    expect([1, 2, 3, 12, 1000].map((failures) => backoffMs(failures, () => 1))).toEqual([100, 200, 400, 30_000, 30_000])
    expect([1, 1000].map((failures) => backoffMs(failures, () => 0))).toEqual([50, 15_000])
  })
})
