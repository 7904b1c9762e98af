import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandSpec, createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { judgementsOf, verdictsOf } from './outcomes.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

const MAX = '9223372036854775807'

interface FinalCase {
  readonly reason: string
  readonly before: readonly CommandSpec[]
  readonly refused: CommandSpec
}

const FINAL: readonly FinalCase[] = [
  {
    reason: 'INSUFFICIENT_FUNDS',
    before: [{ key: 'alice' }],
    refused: { key: 'alice', type: 'withdraw', data: { amount: '101', currency: 'CZK' } },
  },
  {
    reason: 'ACCOUNT_EXISTS',
    before: [{ key: 'alice' }],
    refused: { key: 'alice', type: 'open', data: { currency: 'CZK', overdraftLimit: '1' } },
  },
  {
    reason: 'TARGET_NOT_REVERSIBLE',
    before: [{ key: 'alice', type: 'open', operationId: 'o', data: { currency: 'CZK', overdraftLimit: '1' } }],
    refused: { key: 'alice', type: 'reverse', data: { targetType: 'open', targetOperationId: 'o', currency: 'CZK' } },
  },
  {
    reason: 'ALREADY_REVERSED',
    before: [
      { key: 'alice', operationId: 'd' },
      { key: 'alice', type: 'reverse', data: { targetType: 'deposit', targetOperationId: 'd', currency: 'CZK' } },
    ],
    refused: { key: 'alice', type: 'reverse', data: { targetType: 'deposit', targetOperationId: 'd', currency: 'CZK' } },
  },
]

interface RetryableCase {
  readonly reason: string
  readonly before: readonly CommandSpec[]
  readonly refused: CommandSpec
  /** What makes the same operation succeed later. */
  readonly cure: readonly CommandSpec[]
}

const RETRYABLE: readonly RetryableCase[] = [
  { reason: 'ACCOUNT_NOT_FOUND', before: [], refused: { key: 'alice', type: 'withdraw' }, cure: [{ key: 'alice' }] },
  { reason: 'ACCOUNT_NOT_FOUND', before: [], refused: { key: 'alice', type: 'credit' }, cure: [{ key: 'alice' }] },
  {
    reason: 'INSUFFICIENT_FUNDS',
    before: [{ key: 'alice' }],
    refused: { key: 'alice', type: 'collect', data: { amount: '101', currency: 'CZK' } },
    cure: [{ key: 'alice' }],
  },
  {
    reason: 'BALANCE_OVERFLOW',
    before: [{ key: 'alice', data: { amount: MAX, currency: 'CZK' } }],
    refused: { key: 'alice', data: { amount: '1', currency: 'CZK' } },
    cure: [{ key: 'alice', type: 'withdraw', data: { amount: '1', currency: 'CZK' } }],
  },
  {
    reason: 'TARGET_NOT_FOUND',
    before: [{ key: 'alice' }],
    refused: { key: 'alice', type: 'reverse', data: { targetType: 'deposit', targetOperationId: 'later', currency: 'CZK' } },
    cure: [{ key: 'alice', operationId: 'later' }],
  },
]

describe('business refusals', () => {
  it.each(FINAL)('[ADJ-5] $reason is final: stored, replayed for ever, and has no effect', async ({ reason, before, refused }) => {
    const adjudicator = ledger.adjudicator()
    if (before.length > 0) await adjudicator.judge(ledger.batch(before))
    const balances = await ledger.rows('SELECT * FROM account ORDER BY aggregate_id')
    const spec = { ...refused, operationId: uuidv7() }
    const [first] = judgementsOf(await adjudicator.judge(ledger.batch([spec])))
    expect(first).toMatchObject({ verdict: 'REJECTED', reason, first: { verdict: 'REJECTED', reason, amountMinor: 0n } })
    expect(await ledger.rows('SELECT * FROM account ORDER BY aggregate_id')).toEqual(balances)
    // Money that comes later does not change an answer that was given.
    await adjudicator.judge(ledger.batch([{ key: 'alice' }]))
    const [again] = judgementsOf(await ledger.adjudicator().judge(ledger.batch([spec])))
    expect(again).toEqual({ verdict: 'DUPLICATE', reason, first: first?.first })
    expect(await ledger.value('SELECT COUNT(*) FROM parked')).toBe('0')
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it.each(RETRYABLE)(
    '[ADJ-5] $reason of $refused.type is retryable: nothing is recorded as done, the same identity succeeds later',
    async ({ reason, before, refused, cure }) => {
      const adjudicator = ledger.adjudicator()
      if (before.length > 0) await adjudicator.judge(ledger.batch(before))
      const counts = 'SELECT (SELECT COUNT(*) FROM operation), (SELECT COUNT(*) FROM inbox), (SELECT COUNT(*) FROM posting)'
      const done = await ledger.rows(counts)
      const spec = { ...refused, operationId: uuidv7(), eventId: uuidv7() }
      const outcome = await adjudicator.judge(ledger.batch([spec]))
      expect(judgementsOf(outcome)).toEqual([{ verdict: 'PARKED', reason, first: null }])
      expect(await ledger.rows(counts)).toEqual(done)
      expect(await ledger.rows('SELECT reason, retryable, retry_at > parked_at FROM parked')).toEqual([[Buffer.from(reason), 1, '1']])
      await adjudicator.judge(ledger.batch(cure))
      expect(verdictsOf(await adjudicator.judge(ledger.batch([spec])))).toEqual(['APPLIED'])
      expect(verdictsOf(await adjudicator.judge(ledger.batch([spec])))).toEqual(['DUPLICATE'])
      expect(await ledgerViolations(ledger)).toEqual([])
    },
  )
})

describe('double entry', () => {
  it('[ADJ-9] sums to zero after every batch, in every currency and bucket, with an unbroken history of each account', async () => {
    const adjudicator = ledger.adjudicator()
    for (let round = 0; round < 6; round++) {
      const specs: CommandSpec[] = Array.from({ length: 40 }, (_, i) => ({
        key: `key-${round % 3}-${(i * 7 + round) % 9}`,
        tenant: i % 11 === 0 ? 'other' : 'bank',
        type: ['deposit', 'deposit', 'withdraw', 'credit', 'collect'][(i + round) % 5] ?? 'deposit',
        data: { amount: String(1 + ((i * 37 + round) % 90)), currency: i % 3 === 0 ? 'EUR' : 'CZK' },
      }))
      await adjudicator.judge(ledger.batch(specs, { partition: round % 3 }))
      expect(await ledgerViolations(ledger)).toEqual([])
    }
    expect(Number(await ledger.value('SELECT COUNT(*) FROM posting'))).toBeGreaterThan(10)
    expect(Number(await ledger.value(`SELECT COUNT(*) FROM account WHERE business_key LIKE '@%'`))).toBeGreaterThan(8)
  })

  it('[ADJ-9] a reversal gives back exactly what its target took, once', async () => {
    const adjudicator = ledger.adjudicator()
    const reversal: CommandSpec = {
      key: 'alice',
      type: 'reverse',
      data: { targetType: 'deposit', targetOperationId: 'd', currency: 'CZK' },
    }
    const outcome = await adjudicator.judge(ledger.batch([{ key: 'alice', operationId: 'd' }, reversal, reversal]))
    expect(verdictsOf(outcome)).toEqual(['APPLIED', 'APPLIED', 'REJECTED'])
    expect(await ledger.value(`SELECT balance FROM account WHERE business_key = 'alice'`)).toBe('0')
    expect(await ledgerViolations(ledger)).toEqual([])
  })
})
