import { type Contract, createContractRegistry, MONEY_CONTRACTS } from '@onceledger/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { judgementsOf, verdictsOf } from './outcomes.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

describe('money', () => {
  it.each(['9007199254740993', '9223372036854775807', '1'])('[IDN-5] %s survives MySQL and back, to the last digit', async (amount) => {
    const spec = { key: 'alice', operationId: uuidv7(), data: { amount, currency: 'CZK' } }
    const [first] = judgementsOf(await ledger.adjudicator().judge(ledger.batch([spec])))
    expect(first?.first).toMatchObject({ amountMinor: BigInt(amount), balanceAfterMinor: BigInt(amount) })
    const [again] = judgementsOf(await ledger.adjudicator().judge(ledger.batch([spec])))
    expect(again?.first).toEqual(first?.first)
    expect(await ledger.rows('SELECT balance FROM account ORDER BY balance')).toEqual([[`-${amount}`], [amount]])
  })

  it('[IDN-5] the lowest balance that an overdraft allows survives, and is changed by one', async () => {
    const max = '9223372036854775807'
    const adjudicator = ledger.adjudicator()
    const outcome = await adjudicator.judge(
      ledger.batch([
        { key: 'deep', type: 'open', data: { currency: 'CZK', overdraftLimit: max } },
        { key: 'deep', type: 'withdraw', data: { amount: max, currency: 'CZK' } },
        { key: 'deep', type: 'withdraw', data: { amount: '1', currency: 'CZK' } },
      ]),
    )
    expect(verdictsOf(outcome)).toEqual(['APPLIED', 'APPLIED', 'REJECTED'])
    const [judgement] = judgementsOf(await adjudicator.judge(ledger.batch([{ key: 'deep', data: { amount: '1', currency: 'CZK' } }])))
    expect(judgement?.first?.balanceAfterMinor).toBe(-(2n ** 63n) + 2n)
    expect(await ledgerViolations(ledger)).toEqual([])
  })
})

describe('the intent', () => {
  it.each([
    ['amount', { amount: '101', currency: 'CZK' }],
    ['currency', { amount: '100', currency: 'EUR' }],
  ])(
    '[IDN-6] another %s under the same identity is a conflict with an audit row, and the first result stays untouched',
    async (_field, data) => {
      const adjudicator = ledger.adjudicator()
      const spec = { key: 'alice', operationId: uuidv7() }
      const [first] = judgementsOf(await adjudicator.judge(ledger.batch([spec])))
      const stored = await ledger.rows('SELECT * FROM operation')
      const conflict = { ...spec, data, eventId: uuidv7() }
      for (let i = 0; i < 2; i++) {
        const [judgement] = judgementsOf(await ledger.adjudicator().judge(ledger.batch([conflict])))
        expect(judgement).toEqual({ verdict: 'CONFLICT', reason: 'OTHER_INTENT', first: null })
      }
      expect(await ledger.rows('SELECT * FROM operation')).toEqual(stored)
      const digests = 'first_digest = (SELECT intent_digest FROM operation), first_digest <> digest'
      expect(await ledger.rows(`SELECT kind, seen_count, source_offset, ${digests} FROM conflict_audit`)).toEqual([
        ['CONFLICT', '2', '1', '1', '1'],
      ])
      expect(JSON.parse(await ledger.value('SELECT CAST(intent AS CHAR) FROM conflict_audit'))).toEqual(data)
      const [again] = judgementsOf(await adjudicator.judge(ledger.batch([{ ...spec, eventId: uuidv7() }])))
      expect(again?.first).toEqual(first?.first)
      expect(await ledgerViolations(ledger)).toEqual([])
    },
  )

  it('[IDN-6] of an event judged by its own id conflicts too', async () => {
    const eventId = uuidv7()
    const adjudicator = ledger.adjudicator()
    await adjudicator.judge(ledger.batch([{ key: 'alice' }, { key: 'alice', type: 'credit', eventId }]))
    const other = { key: 'alice', type: 'credit', eventId, data: { amount: '5', currency: 'CZK' } }
    expect(verdictsOf(await ledger.adjudicator().judge(ledger.batch([other])))).toEqual(['CONFLICT'])
    expect(await ledger.value('SELECT COUNT(*) FROM posting')).toBe('1')
    expect(await ledger.value('SELECT COUNT(*) FROM conflict_audit')).toBe('1')
  })

  it('[IDN-7] a duplicate answers with the first result, whatever happened to the balance since', async () => {
    const adjudicator = ledger.adjudicator()
    const specs = [
      { key: 'alice', operationId: uuidv7(), eventId: uuidv7() },
      { key: 'alice', type: 'credit', eventId: uuidv7() },
    ]
    const first = judgementsOf(await adjudicator.judge(ledger.batch(specs)))
    await adjudicator.judge(ledger.batch([{ key: 'alice' }, { key: 'alice', type: 'withdraw', data: { amount: '250', currency: 'CZK' } }]))
    const again = judgementsOf(await ledger.adjudicator().judge(ledger.batch(specs)))
    expect(again.map(({ verdict }) => verdict)).toEqual(['DUPLICATE', 'DUPLICATE'])
    expect(again.map(({ first: result }) => result)).toEqual(first.map(({ first: result }) => result))
    expect(again[1]?.first).toMatchObject({ balanceAfterMinor: 200n, accountVersion: 2n })
  })

  it('[IDN-4] [IDN-7] an older contract version stays comparable: a command is judged under the version of the stored row', async () => {
    const adjudicator = ledger.adjudicator()
    const [byV1, byV2] = [uuidv7(), uuidv7()]
    const withReference = { amount: '100', currency: 'CZK', reference: 'invoice 1' }
    await adjudicator.judge(ledger.batch([{ operationId: byV1 }, { operationId: byV2, version: 2, data: withReference }]))
    const outcome = await ledger.adjudicator().judge(
      ledger.batch([
        { operationId: byV1, version: 2, data: withReference },
        { operationId: byV1, version: 2, data: { ...withReference, amount: '101' } },
        { operationId: byV2, version: 1, data: withReference },
        { operationId: byV2, version: 2, data: { ...withReference, reference: 'invoice 2' } },
        { operationId: byV2, version: 1, data: { amount: '100', currency: 'CZK' } },
      ]),
    )
    expect(verdictsOf(outcome)).toEqual(['DUPLICATE', 'CONFLICT', 'DUPLICATE', 'CONFLICT', 'PARKED'])
    expect(await ledger.rows('SELECT reason FROM parked')).toEqual([[Buffer.from('DIGEST_NOT_COMPUTABLE')]])
    expect(await ledger.rows('SELECT first_contract_version, contract_version FROM conflict_audit ORDER BY source_offset')).toEqual([
      [1, 2],
      [2, 2],
    ])
  })

  it('[IDN-4] a stored version that this process does not know parks the command', async () => {
    const operationId = uuidv7()
    await ledger.adjudicator().judge(ledger.batch([{ operationId, version: 2, data: { amount: '1', currency: 'CZK', reference: 'r' } }]))
    const older = createContractRegistry(MONEY_CONTRACTS.filter(({ name, version }: Contract) => name !== 'deposit' || version === 1))
    const outcome = await ledger
      .adjudicator({ registry: older })
      .judge(ledger.batch([{ operationId, data: { amount: '1', currency: 'CZK' } }]))
    expect(verdictsOf(outcome)).toEqual(['PARKED'])
  })
})

describe('identities', () => {
  const upper = '0192F0C1-0000-7000-8000-00000000ABCD'
  const LOOK_ALIKES: readonly string[] = [
    'op-1',
    'op-1 ',
    ' op-1',
    'OP-1',
    'op-1\t',
    'caf\u00e9',
    'cafe\u0301',
    'stra\u00dfe',
    'strasse',
    'a'.repeat(128),
    'a'.repeat(127),
    'A'.repeat(128),
    '🔑'.repeat(32),
    upper,
    upper.toLowerCase(),
    upper.toLowerCase().replaceAll('-', ''),
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    '01arz3ndektsv4rrffq69g5fav',
    '0',
    '00',
    '\u0001',
    '%',
    "'",
    '\\',
    '"; --',
  ]

  it('[IDN-2] ids that differ in a space, case, normal form, spelling or length are different operations and different events', async () => {
    const specs = LOOK_ALIKES.map((id) => ({ key: 'alice', operationId: id, eventId: id }))
    const outcome = await ledger.adjudicator().judge(ledger.batch(specs))
    expect(new Set(verdictsOf(outcome))).toEqual(new Set(['APPLIED']))
    const again = await ledger.adjudicator().judge(ledger.batch(specs))
    expect(new Set(verdictsOf(again))).toEqual(new Set(['DUPLICATE']))
    expect(judgementsOf(again).map(({ first }) => first)).toEqual(judgementsOf(outcome).map(({ first }) => first))
    expect(await ledger.value('SELECT COUNT(*) FROM operation')).toBe(String(LOOK_ALIKES.length))
    expect(await ledger.value('SELECT COUNT(*) FROM inbox')).toBe(String(LOOK_ALIKES.length))
  })

  it('[IDN-2] the same operation id under another tenant, type or business key is another operation; tenants and keys are compared as bytes', async () => {
    const operationId = uuidv7()
    const names = ['bank', 'Bank', 'bank ', 'ba\u0301nk', 'b\u00e1nk']
    const specs = [
      ...names.map((tenant) => ({ tenant, key: 'alice', operationId })),
      ...names.map((key) => ({ key, operationId })),
      { key: 'alice', type: 'collect', operationId },
    ]
    expect(new Set(verdictsOf(await ledger.adjudicator().judge(ledger.batch(specs))))).toEqual(new Set(['APPLIED']))
    expect(new Set(verdictsOf(await ledger.adjudicator().judge(ledger.batch(specs))))).toEqual(new Set(['DUPLICATE']))
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[IDN-2] the longest tenant, key and ids fit everywhere, the audit table too', async () => {
    const long = { tenant: 't'.repeat(64), key: 'é'.repeat(64), operationId: '🔑'.repeat(32), eventId: 'ж'.repeat(64) }
    const adjudicator = ledger.adjudicator()
    await adjudicator.judge(ledger.batch([long]))
    const outcome = await adjudicator.judge(
      ledger.batch([
        { ...long, data: { amount: '3', currency: 'CZK' } },
        { ...long, operationId: 'x'.repeat(128) },
      ]),
    )
    expect(verdictsOf(outcome)).toEqual(['CONFLICT', 'APPLIED'])
    expect(await ledger.value('SELECT COUNT(*) FROM conflict_audit')).toBe('2')
  })
})
