import { CorruptData, MONEY_CONTRACTS, type EventReason } from '@onceledger/core'
import { describe, expect, it } from 'vitest'
import { reasonCode, reasonFromCode, type StoredVerdict, verdictCode, verdictFromCode } from '../src/codes.ts'

const VERDICTS: readonly (readonly [StoredVerdict, number])[] = [
  ['APPLIED', 1],
  ['REJECTED', 2],
  ['DUPLICATE', 3],
  ['CONFLICT', 4],
  ['STALE', 5],
]
/** As stored rows carry them for ever: this table may grow, never change. */
const REASONS: readonly (readonly [EventReason | null, number])[] = [
  [null, 0],
  ['ACCOUNT_NOT_FOUND', 1],
  ['ACCOUNT_EXISTS', 2],
  ['INSUFFICIENT_FUNDS', 3],
  ['BALANCE_OVERFLOW', 4],
  ['TARGET_NOT_FOUND', 5],
  ['TARGET_NOT_REVERSIBLE', 6],
  ['ALREADY_REVERSED', 7],
  ['OTHER_INTENT', 64],
  ['VERSION_TAKEN', 65],
  ['BEHIND_SEQUENCE', 66],
  ['BEHIND_SNAPSHOT', 67],
]

describe('stored codes', () => {
  it.each(VERDICTS)('[RET-1] verdict %s is %i, for ever', (verdict, code) => {
    expect(verdictCode(verdict)).toBe(code)
    expect(verdictFromCode(code)).toBe(verdict)
  })

  it.each(REASONS)('[RET-1] reason %s is %i, for ever', (reason, code) => {
    expect(reasonCode(reason)).toBe(code)
    expect(reasonFromCode(code)).toBe(reason)
  })

  it('[ADJ-5] every reason that a contract names has a code', () => {
    const named = new Set(MONEY_CONTRACTS.flatMap((contract) => Object.keys(contract.rejections)))
    expect(new Set(REASONS.flatMap(([reason, code]) => (reason === null || code >= 64 ? [] : [reason])))).toEqual(named)
  })

  it('an unknown code is corrupt data, never a guess', () => {
    for (const code of [0, 6, 255]) expect(() => verdictFromCode(code)).toThrow(CorruptData)
    for (const code of [8, 255]) expect(() => reasonFromCode(code)).toThrow(CorruptData)
  })
})
