import { recordDigest } from '@onceledger/core'
import { describe, expect, it } from 'vitest'
import { planStart, type StartPosition, verifyLast } from '../src/chain.ts'
import { recordAt } from './records.ts'

const DIGEST = recordDigest(recordAt(41))
const BOUNDS = { low: 10n, high: 100n }

function applied(nextOffset: bigint, lastDigest: Uint8Array | null = DIGEST): StartPosition {
  return { kind: 'applied', nextOffset, lastDigest }
}

describe('where a partition starts', () => {
  it.each([
    ['the last applied record is read again', applied(42n), { position: 42n, fetchFrom: 41n, verifyDigest: DIGEST, warning: null }],
    ['at the end of the log too', applied(100n), { position: 100n, fetchFrom: 99n, verifyDigest: DIGEST, warning: null }],
    ['without a digest nothing is compared', applied(42n, null), { position: 42n, fetchFrom: 42n, verifyDigest: null }],
    [
      'retention took exactly the last applied record',
      applied(10n),
      { position: 10n, fetchFrom: 10n, verifyDigest: null, warning: expect.any(String) },
    ],
    ['a group offset', { kind: 'group-offset' } as const, { position: 50n, fetchFrom: 50n, verifyDigest: null }],
    [
      'the beginning of a log that retention cut',
      { kind: 'beginning' } as const,
      { position: 10n, fetchFrom: 10n, warning: expect.any(String) },
    ],
  ])('[ADJ-8] %s', (_, start, plan) => {
    expect(planStart(start, BOUNDS, 50n)).toMatchObject({ kind: 'read', ...plan })
  })

  it('[ADJ-8] without a group offset it starts at the beginning', () => {
    expect(planStart({ kind: 'group-offset' }, { low: 0n, high: 5n }, null)).toMatchObject({ position: 0n, warning: null })
  })

  it.each([
    ['BEYOND_END', applied(101n)],
    ['LOST_BY_RETENTION', applied(9n)],
    ['LOST_BY_RETENTION', applied(0n, null)],
  ])('[ADJ-8] %s breaks the chain', (code, start) => {
    expect(planStart(start, BOUNDS, null)).toMatchObject({ kind: 'broken', code })
  })
})

describe('the last applied record', () => {
  it('[ADJ-8] is accepted when it is the same', () => {
    expect(verifyLast(42n, DIGEST, recordAt(41))).toBeNull()
  })

  it.each([
    ['DIGEST_MISMATCH', recordAt(41, 'another')],
    ['RECORD_MISSING', recordAt(43)],
  ])('[ADJ-8] %s breaks the chain', (code, first) => {
    expect(verifyLast(42n, DIGEST, first)).toMatchObject({ kind: 'broken', code })
  })
})
