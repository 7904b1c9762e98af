import { describe, expect, it } from 'vitest'
import { adjudicate } from '../src/adjudicate.ts'
import { createContractRegistry } from '../src/contract.ts'
import { MONEY_CONTRACTS } from '../src/contracts/money.ts'
import { CorruptData } from '../src/errors.ts'
import { accountKey } from '../src/keys.ts'
import type { Judgement } from '../src/verdict.ts'
import { type CommandTexts, command, HOUR_US, NOW_US, registry, uuidv7 } from './builders.ts'
import { KeptState } from './kept-state.ts'

const NOW_MS = Number(NOW_US / 1000n)
const ALICE = 'bank/alice/CZK'

/** A ledger in memory that judges each command as a batch of its own. */
function ledger(): { kept: KeptState; send: (texts: CommandTexts) => Judgement } {
  const kept = new KeptState()
  return {
    kept,
    send: (texts) => {
      const judgement = kept.judge([command(texts)]).judgements[0]
      if (judgement === undefined) throw new Error('one command, no judgement')
      return judgement
    },
  }
}

const of = (amount: string, currency = 'CZK'): { amount: string; currency: string } => ({ amount, currency })
const withdraw = (operationId: string, amount: string): CommandTexts => ({
  type: 'withdraw',
  eventId: `of-${operationId}`,
  operationId,
  data: of(amount),
})
const reverse = (operationId: string, targetOperationId: string, targetType = 'deposit'): CommandTexts => ({
  type: 'reverse',
  eventId: `of-${operationId}`,
  operationId,
  data: { targetType, targetOperationId, currency: 'CZK' },
})

describe('a first command', () => {
  it('[ADJ-1] [ADJ-9] leaves its operation, its event, and two balances that sum to zero', () => {
    const first = command()
    const { judgements, writes } = adjudicate(new KeptState(), [first], { nowUs: NOW_US, registry })
    const result = {
      verdict: 'APPLIED',
      reason: null,
      currency: 'CZK',
      amountMinor: 10_000n,
      accountVersion: 1n,
      balanceAfterMinor: 10_000n,
      committedAtUs: NOW_US,
    }
    expect(judgements).toEqual([{ verdict: 'APPLIED', reason: null, first: result }])
    expect(writes).toMatchObject({
      operations: [{ command: first, result }],
      events: [{ command: first, verdict: 'APPLIED', result: null, eventDay: 19_675 }],
      postings: [],
      audits: [],
      parked: [],
    })
    expect(writes.accounts.map(({ businessKey, balanceMinor, created }) => [businessKey, balanceMinor, created])).toEqual([
      ['@external/0', -10_000n, true],
      ['alice', 10_000n, true],
    ])
  })

  it('[RTE-3] files an event under the day in its id, and under the day of its processing where the id has none', () => {
    const yesterday = uuidv7(NOW_MS - 24 * 3_600_000)
    const { writes } = adjudicate(
      new KeptState(),
      [command({ eventId: yesterday }), command({ eventId: 'no-time', operationId: 'operation-2' })],
      { nowUs: NOW_US, registry },
    )
    expect(writes.events.map(({ eventDay }) => eventDay)).toEqual([19_674, 19_675])
  })
})

describe('a repeated command', () => {
  it("[IDN-7] is answered with the first commit's result, not with today's balance", () => {
    const { kept, send } = ledger()
    const first = send({})
    send({ eventId: 'event-2', operationId: 'operation-2', data: of('77') })
    const later = kept.judge([command()], NOW_US + HOUR_US)
    expect(later.judgements).toEqual([{ verdict: 'DUPLICATE', reason: null, first: first.first }])
    expect(first.first).toMatchObject({ balanceAfterMinor: 10_000n, committedAtUs: NOW_US })
    expect(kept.balances.get(ALICE)).toBe(10_077n)
  })

  it('[ADJ-6] under another event gets the first result and an inbox row of its own; the effect stands once', () => {
    const { kept, send } = ledger()
    const { first } = send({ eventId: 'event-1' })
    expect(send({ eventId: 'event-2' })).toEqual({ verdict: 'DUPLICATE', reason: null, first })
    expect(kept.balances.get(ALICE)).toBe(10_000n)
    expect(kept.rows).toEqual({ operations: 1, events: 2, postings: 0, reversals: 0, audits: 0, parked: 0 })
  })

  it('[ADJ-7] inside one batch is judged like any other', () => {
    const kept = new KeptState()
    const { judgements } = kept.judge([command(), command({ eventId: 'event-2' }), command({ data: of('1') })])
    expect(judgements.map(({ verdict }) => verdict)).toEqual(['APPLIED', 'DUPLICATE', 'CONFLICT'])
    expect(kept.balances.get(ALICE)).toBe(10_000n)
  })

  it('[IDN-2] is the same operation only with the same tenant, type, operation_id and business key', () => {
    const { send } = ledger()
    const deposit = { operationId: 'operation-1', data: of('5') }
    const verdicts = [
      send(deposit),
      send({ ...deposit, tenantId: 'shop' }),
      send({ ...deposit, businessKey: 'bob' }),
      send({ ...deposit, type: 'withdraw', eventId: 'event-2' }),
      send({ ...deposit, operationId: 'operation-2', eventId: 'event-3' }),
      send(deposit),
    ].map(({ verdict }) => verdict)
    expect(verdicts).toEqual(['APPLIED', 'APPLIED', 'APPLIED', 'APPLIED', 'APPLIED', 'DUPLICATE'])
  })

  it('[IDN-4] may order its fields otherwise and carry more than the contract knows', () => {
    const { send } = ledger()
    send({ data: { amount: '5', currency: 'CZK' } })
    expect(send({ eventId: 'event-2', data: { traceId: 'x', currency: 'CZK', amount: '5' } }).verdict).toBe('DUPLICATE')
  })
})

describe('the same identity with another intent', () => {
  it.each([
    ['amount', of('10001')],
    ['currency', of('10000', 'EUR')],
  ])('[IDN-6] is a CONFLICT for another %s: an audit row, no result, nothing changed', (_, data) => {
    const { kept, send } = ledger()
    const { first } = send({})
    expect(send({ eventId: 'event-2', data })).toEqual({ verdict: 'CONFLICT', reason: 'OTHER_INTENT', first: null })
    expect(kept.balances).toEqual(
      new Map([
        [ALICE, 10_000n],
        ['bank/@external/0/CZK', -10_000n],
      ]),
    )
    expect(kept.rows).toMatchObject({ operations: 1, events: 2, audits: 1 })
    expect(send({ eventId: 'event-3' })).toEqual({ verdict: 'DUPLICATE', reason: null, first })
  })

  it('[IDN-6] leaves an audit row that names the first digest, version and operation', () => {
    const { kept, send } = ledger()
    send({})
    const other = command({ eventId: 'event-2', data: of('1') })
    expect(kept.judge([other]).writes.audits).toEqual([
      {
        command: other,
        kind: 'CONFLICT',
        firstDigest: command().digest,
        firstContractVersion: 1,
        firstOperation: 'deposit/operation-1',
      },
    ])
  })
})

describe('[IDN-4] versions of a contract', () => {
  const withReference = { ...of('5'), reference: 'rent' }

  it('compare a newer command under the older version that decided', () => {
    const { send } = ledger()
    send({ version: 1, data: of('5') })
    expect(send({ version: 2, eventId: 'event-2', data: withReference }).verdict).toBe('DUPLICATE')
    expect(send({ version: 2, eventId: 'event-3', data: { ...withReference, amount: '6' } }).verdict).toBe('CONFLICT')
  })

  it('compare an older command under the newer version where it carries the fields', () => {
    const { send } = ledger()
    send({ version: 2, data: withReference })
    expect(send({ version: 1, eventId: 'event-2', data: withReference }).verdict).toBe('DUPLICATE')
    expect(send({ version: 1, eventId: 'event-3', data: { ...withReference, reference: 'food' } }).verdict).toBe('CONFLICT')
  })

  it('park an older command that lacks a field of the newer version: nobody can say whether it is the same', () => {
    const { kept, send } = ledger()
    send({ version: 2, data: withReference })
    expect(send({ version: 1, eventId: 'event-2', data: of('5') })).toEqual({
      verdict: 'PARKED',
      reason: 'DIGEST_NOT_COMPUTABLE',
      first: null,
    })
    expect(kept.rows).toEqual({ operations: 1, events: 1, postings: 0, reversals: 0, audits: 0, parked: 1 })
  })

  it('park a command when a deployment no longer knows the version that decided', () => {
    const kept = new KeptState()
    kept.judge([command({ version: 2, data: withReference })])
    const older = createContractRegistry(MONEY_CONTRACTS.filter(({ version }) => version === 1))
    const { judgements } = adjudicate(kept, [command({ data: withReference })], { nowUs: NOW_US, registry: older })
    expect(judgements.map(({ reason }) => reason)).toEqual(['DIGEST_NOT_COMPUTABLE'])
  })
})

describe('a refused effect', () => {
  it('[ADJ-5] that is final is stored and replayed for ever', () => {
    const { kept, send } = ledger()
    send({})
    const refused = send(withdraw('w-1', '10001'))
    expect(refused).toMatchObject({ verdict: 'REJECTED', reason: 'INSUFFICIENT_FUNDS', first: { verdict: 'REJECTED', amountMinor: 0n } })
    send({ eventId: 'event-2', operationId: 'operation-2' })
    expect(send(withdraw('w-1', '10001'))).toEqual({ verdict: 'DUPLICATE', reason: 'INSUFFICIENT_FUNDS', first: refused.first })
    expect(kept.balances.get(ALICE)).toBe(20_000n)
  })

  it('[ADJ-5] that is retryable leaves no row but the parked one, and may succeed later', () => {
    const { kept, send } = ledger()
    expect(send(withdraw('w-1', '1'))).toEqual({ verdict: 'PARKED', reason: 'ACCOUNT_NOT_FOUND', first: null })
    expect(kept.rows).toEqual({ operations: 0, events: 0, postings: 0, reversals: 0, audits: 0, parked: 1 })
    send({})
    expect(send(withdraw('w-1', '1')).verdict).toBe('APPLIED')
  })

  it('[ADJ-5] follows the contract: a withdrawal without money is refused for ever, a collection waits', () => {
    const { kept, send } = ledger()
    send({})
    const collect = { ...withdraw('c-1', '10001'), type: 'collect' }
    const { writes } = kept.judge([command(collect)])
    expect(writes.parked).toMatchObject([{ reason: 'INSUFFICIENT_FUNDS', retryable: true, tenantId: 'bank' }])
    send({ eventId: 'event-2', operationId: 'operation-2' })
    expect(send(collect).verdict).toBe('APPLIED')
  })
})

describe('an event id that comes back for another operation', () => {
  it('[ADJ-6] leaves an audit row, and the second operation is judged by its own key', () => {
    const { kept, send } = ledger()
    send({})
    const other = command({ operationId: 'operation-2', data: of('5') })
    const { judgements, writes } = kept.judge([other])
    expect(judgements.map(({ verdict }) => verdict)).toEqual(['APPLIED'])
    expect(writes.audits).toMatchObject([{ command: other, kind: 'EVENT_REUSED', firstOperation: 'deposit/operation-1' }])
    expect(writes.events).toEqual([])
    expect(kept.balances.get(ALICE)).toBe(10_005n)
  })
})

describe('a credit', () => {
  const eventId = uuidv7(NOW_MS)
  const credit = { type: 'credit', eventId, data: of('5') }

  it('[ADJ-2] [IDN-7] is judged by its event, whose row carries digest and result', () => {
    const { kept, send } = ledger()
    send({})
    const first = send(credit)
    expect(first).toMatchObject({ verdict: 'APPLIED', first: { balanceAfterMinor: 10_005n } })
    expect(send(credit)).toEqual({ verdict: 'DUPLICATE', reason: null, first: first.first })
    expect(send({ ...credit, data: of('6') })).toEqual({ verdict: 'CONFLICT', reason: 'OTHER_INTENT', first: null })
    expect(send({ ...credit, eventId: uuidv7(NOW_MS, 1) }).verdict).toBe('APPLIED')
    expect(kept.rows).toEqual({ operations: 1, events: 3, postings: 2, reversals: 0, audits: 1, parked: 0 })
  })

  it('[IDN-1] shares no event with contracts that are judged by operation', () => {
    const { kept, send } = ledger()
    send({ eventId })
    expect(send(credit).verdict).toBe('APPLIED')
    expect(kept.rows).toMatchObject({ events: 2, audits: 0 })
  })

  it('waits for the account to be opened', () => {
    expect(ledger().send(credit)).toMatchObject({ verdict: 'PARKED', reason: 'ACCOUNT_NOT_FOUND' })
  })
})

describe('a reversal', () => {
  it('[ADJ-9] undoes an operation in full, once', () => {
    const { kept, send } = ledger()
    send({})
    expect(send(reverse('r-1', 'operation-1'))).toMatchObject({
      verdict: 'APPLIED',
      first: { amountMinor: -10_000n, balanceAfterMinor: 0n },
    })
    expect(send(reverse('r-1', 'operation-1')).verdict).toBe('DUPLICATE')
    expect(send(reverse('r-2', 'operation-1'))).toMatchObject({ verdict: 'REJECTED', reason: 'ALREADY_REVERSED' })
    expect(kept.balances.get(ALICE)).toBe(0n)
  })

  it('gives a withdrawal back', () => {
    const { kept, send } = ledger()
    send({})
    send(withdraw('w-1', '4000'))
    expect(send(reverse('r-1', 'w-1', 'withdraw'))).toMatchObject({ verdict: 'APPLIED', first: { amountMinor: 4_000n } })
    expect(kept.balances.get(ALICE)).toBe(10_000n)
  })

  it('waits for its target, and is refused for what was never posted', () => {
    const { send } = ledger()
    send({})
    send(withdraw('too-much', '10001'))
    send(reverse('r-1', 'operation-1'))
    expect(send(reverse('r-2', 'not-yet'))).toMatchObject({ verdict: 'PARKED', reason: 'TARGET_NOT_FOUND' })
    expect(send(reverse('r-3', 'too-much', 'withdraw'))).toMatchObject({ verdict: 'REJECTED', reason: 'TARGET_NOT_REVERSIBLE' })
    expect(send(reverse('r-4', 'r-1', 'reverse'))).toMatchObject({ verdict: 'REJECTED', reason: 'TARGET_NOT_REVERSIBLE' })
  })

  it("does not reach another account's operation", () => {
    const { send } = ledger()
    send({})
    send({ businessKey: 'bob', operationId: 'of-bob' })
    expect(send(reverse('r-1', 'of-bob'))).toMatchObject({ verdict: 'PARKED', reason: 'TARGET_NOT_FOUND' })
  })
})

describe('an account', () => {
  const open = (operationId: string, overdraftLimit: string): CommandTexts => ({
    type: 'open',
    eventId: `of-${operationId}`,
    operationId,
    data: { currency: 'CZK', overdraftLimit },
  })

  it('is opened once', () => {
    const { send } = ledger()
    expect(send(open('o-1', '0'))).toMatchObject({ verdict: 'APPLIED', first: { accountVersion: 0n, amountMinor: 0n } })
    expect(send(open('o-1', '0')).verdict).toBe('DUPLICATE')
    expect(send(open('o-2', '0'))).toMatchObject({ verdict: 'REJECTED', reason: 'ACCOUNT_EXISTS' })
  })

  it('goes below zero as far as its overdraft limit, and not a unit further', () => {
    const { kept, send } = ledger()
    send(open('o-1', '500'))
    expect(send(withdraw('w-1', '501'))).toMatchObject({ verdict: 'REJECTED', reason: 'INSUFFICIENT_FUNDS' })
    expect(send(withdraw('w-2', '500')).verdict).toBe('APPLIED')
    expect(send(withdraw('w-3', '1'))).toMatchObject({ verdict: 'REJECTED', reason: 'INSUFFICIENT_FUNDS' })
    expect(kept.balances.get(ALICE)).toBe(-500n)
  })

  it('[IDN-5] holds 2^63-1 exactly, and what would not fit waits', () => {
    const { kept, send } = ledger()
    send({ data: of('9223372036854775807') })
    const more = { eventId: 'event-2', operationId: 'operation-2', data: of('1') }
    expect(send(more)).toMatchObject({ verdict: 'PARKED', reason: 'BALANCE_OVERFLOW' })
    send(withdraw('w-1', '1'))
    expect(send(more).verdict).toBe('APPLIED')
    expect(kept.balances.get(ALICE)).toBe(9_223_372_036_854_775_807n)
    expect(kept.balances.get('bank/@external/0/CZK')).toBe(-9_223_372_036_854_775_807n)
  })

  it('[IDN-5] [ADJ-9] waits too where the counter account of its bucket would not fit', () => {
    const { kept, send } = ledger()
    send({ data: of('9223372036854775807') })
    const neighbour = { businessKey: 'bob', data: of('1') }
    expect(send(neighbour)).toMatchObject({ verdict: 'PARKED', reason: 'BALANCE_OVERFLOW' })
    expect(send({ ...neighbour, bucket: 1 }).verdict).toBe('APPLIED')
    expect(kept.balances.get('bank/bob/CZK')).toBe(1n)
  })

  it('whose stored row names another owner stops the batch', () => {
    const kept = new KeptState()
    kept.judge([command()])
    kept.corruptAccounts.add(accountKey(command().aggregateId, 'CZK'))
    expect(() => kept.judge([command({ eventId: 'event-2', operationId: 'operation-2' })])).toThrow(CorruptData)
  })
})

describe('an event from the future', () => {
  it('[RTE-3] is parked beyond the clock skew, and taken up to it', () => {
    const { kept, send } = ledger()
    const day = 24 * 3_600_000
    expect(send({ eventId: uuidv7(NOW_MS + day) }).verdict).toBe('APPLIED')
    const ahead = { eventId: uuidv7(NOW_MS + day + 1), operationId: 'operation-2' }
    expect(send(ahead)).toEqual({ verdict: 'PARKED', reason: 'EVENT_IN_FUTURE', first: null })
    expect(kept.rows).toMatchObject({ operations: 1, events: 1, parked: 1 })
    expect(kept.judge([command(ahead)], NOW_US + HOUR_US).judgements).toMatchObject([{ verdict: 'APPLIED' }])
  })
})
