import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Command } from '../src/command.ts'
import { createContractRegistry } from '../src/contract.ts'
import { MONEY_CONTRACTS } from '../src/contracts/money.ts'
import { aggregateIdOf } from '../src/identity.ts'
import { command, commandUnder, uuidv7 } from './builders.ts'
import { KeptState } from './kept-state.ts'

const RUNS = 1_500

const opening = (businessKey: string): Command =>
  command({
    type: 'open',
    businessKey,
    operationId: 'open',
    eventId: `open-${businessKey}`,
    data: { currency: 'CZK', overdraftLimit: '1000000' },
  })

interface EntryTexts {
  readonly businessKey?: string
  readonly version: number
  readonly amount?: string
  readonly operationId?: string
  readonly eventId?: string
}

function entry({ businessKey = 'alice', version, amount = '1', operationId, eventId }: EntryTexts): Command {
  return command({
    type: 'entry',
    businessKey,
    aggregateVersion: BigInt(version),
    operationId: operationId ?? `entry-${version}`,
    eventId: eventId ?? `event-${businessKey}-${operationId ?? version}`,
    data: { amount, currency: 'CZK' },
  })
}

function head(state: KeptState, businessKey = 'alice'): bigint {
  return state.sequences.get(aggregateIdOf('bank', businessKey)) ?? 0n
}

function verdicts(state: KeptState, commands: readonly Command[]): string[] {
  return state.judge(commands).judgements.map(({ verdict }) => verdict)
}

function opened(upTo = 0, state = new KeptState()): KeptState {
  state.judge([opening('alice'), ...Array.from({ length: upTo }, (_, i) => entry({ version: i + 1 }))])
  return state
}

const balanceOf = (state: KeptState): bigint | undefined => state.balances.get('bank/alice/CZK')

const stream = fc.record({
  amounts: fc.record({
    alice: fc.array(
      fc.integer({ min: -50, max: 50 }).filter((amount) => amount !== 0),
      { minLength: 1, maxLength: 14 },
    ),
    bob: fc.array(
      fc.integer({ min: -50, max: 50 }).filter((amount) => amount !== 0),
      { minLength: 0, maxLength: 8 },
    ),
  }),
  /** For each command how often it comes again, and whether as a new event. */
  again: fc.infiniteStream(fc.constantFrom('no', 'no', 'same', 'new')),
  order: fc.infiniteStream(fc.nat(1_000_000)),
  cuts: fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
})

describe('a stream of ordered commands', () => {
  it('[ORD-1] [ORD-2] [ADJ-6] ends the same in any permutation with duplicates, however it is cut in batches: each effect once', () => {
    let waited = 0
    fc.assert(
      fc.property(stream, ({ amounts, again, order, cuts }) => {
        const commands = Object.entries(amounts).flatMap(([businessKey, list]) =>
          list.map((amount, i) => entry({ businessKey, version: i + 1, amount: String(amount) })),
        )
        const repeats = commands.flatMap((each, i) => {
          const kind = again.next().value
          if (kind === 'no') return []
          return [kind === 'same' ? each : { ...each, ...renamed(each, i) }]
        })
        const shuffled = [...commands, ...repeats]
          .map((each) => ({ each, at: order.next().value ?? 0 }))
          .sort((left, right) => left.at - right.at)
          .map(({ each }) => each)
        const state = new KeptState()
        state.judge([opening('alice'), opening('bob')])
        const applied: string[] = []
        for (let at = 0; at < shuffled.length; ) {
          const size = cuts.next().value ?? 1
          const { decisions } = state.judge(shuffled.slice(at, at + size))
          for (const { command: of, judgement } of decisions)
            if (judgement.verdict === 'APPLIED') applied.push(`${of.businessKey} ${of.operationId} ${judgement.first?.balanceAfterMinor}`)
          waited = Math.max(waited, state.waiting)
          at += size
        }
        const implied = Object.entries(amounts).flatMap(([businessKey, list]) =>
          list.map((_, i) => `${businessKey} entry-${i + 1} ${list.slice(0, i + 1).reduce((sum, each) => sum + each, 0)}`),
        )
        expect(applied.toSorted()).toEqual(implied.toSorted())
        for (const [businessKey, list] of Object.entries(amounts)) {
          expect(head(state, businessKey)).toBe(BigInt(list.length))
          expect(state.versions.get(`bank/${businessKey}/CZK`)).toBe(BigInt(list.length))
        }
        expect(state.waiting).toBe(0)
        expect(state.rows).toMatchObject({ audits: 0, parked: 0 })
        expect(state.steps.size).toBe(commands.length)
        expect([...state.balances.values()].reduce((sum, balance) => sum + balance, 0n)).toBe(0n)
      }),
      { numRuns: RUNS },
    )
    expect(waited, 'some commands really waited between batches').toBeGreaterThan(3)
  })
})

function renamed(each: Command, i: number): Pick<Command, 'eventId' | 'eventIdHex'> {
  const { eventId, eventIdHex } = command({ eventId: uuidv7(1_700_000_000_000, i) })
  return { eventId, eventIdHex: eventIdHex === '' ? each.eventIdHex : eventIdHex }
}

describe('a sequence', () => {
  it('[ORD-2] at version 10, receiving 12, 11, 11, 13 ends at 13 with each effect once', () => {
    const one = opened(10)
    expect([12, 11, 11, 13].map((version) => verdicts(one, [entry({ version })])[0])).toEqual([
      'DEFERRED',
      'APPLIED',
      'DUPLICATE',
      'APPLIED',
    ])
    const all = opened(10)
    expect(
      verdicts(
        all,
        [12, 11, 11, 13].map((version) => entry({ version })),
      ),
    ).toEqual(['APPLIED', 'APPLIED', 'DUPLICATE', 'APPLIED'])
    for (const state of [one, all]) expect([head(state), balanceOf(state), state.waiting]).toEqual([13n, 13n, 0])
  })

  it('[ORD-2] tells decisions in the order in which they were reached, and what brought them about', () => {
    const { decisions } = opened(10).judge([12, 14, 11, 13].map((version) => entry({ version })))
    expect(decisions.map(({ command: of, cause, drained }) => [of.aggregateVersion, cause, drained])).toEqual([
      [11n, 2, false],
      [12n, 2, true],
      [13n, 3, false],
      [14n, 3, true],
    ])
  })

  it('[ORD-1] of two operations that claim one version the first applied stands, the other is CONFLICT with an audit row', () => {
    const state = opened()
    const rival = entry({ version: 1, operationId: 'rival' })
    expect(verdicts(state, [entry({ version: 1 }), rival])).toEqual(['APPLIED', 'CONFLICT'])
    expect(state.judge([rival]).judgements[0]).toEqual({ verdict: 'CONFLICT', reason: 'VERSION_TAKEN', first: null })
    expect(state.rows).toMatchObject({ audits: 2, operations: 2 })
    expect(verdicts(state, [entry({ version: 2, operationId: 'rival', eventId: 'event-later' })])).toEqual(['APPLIED'])
  })

  it('[ORD-2] a redelivery of what waits waits too, without a second row', () => {
    const state = opened()
    expect(verdicts(state, [entry({ version: 3 })])).toEqual(['DEFERRED'])
    expect(verdicts(state, [entry({ version: 3 }), entry({ version: 3 })])).toEqual(['DEFERRED', 'DEFERRED'])
    expect(state.waiting).toBe(1)
    expect(verdicts(state, [entry({ version: 2 }), entry({ version: 1 }), entry({ version: 3 })])).toEqual([
      'APPLIED',
      'APPLIED',
      'DUPLICATE',
    ])
    expect(state.waiting).toBe(0)
  })

  it.each([
    ['takes-version', 1n, 0, ['REJECTED', 'APPLIED']],
    ['leaves-version', 0n, 1, ['REJECTED', 'DEFERRED']],
  ] as const)('[ADJ-5] [ORD-1] a final rejection %s, by contract', (finalRejection, headAfter, waiting, answers) => {
    const contracts = createContractRegistry(
      MONEY_CONTRACTS.map((contract) =>
        contract.sequence === undefined ? contract : { ...contract, sequence: { ...contract.sequence, finalRejection } },
      ),
    )
    const of = (version: number, amount: string, operationId: string): Command =>
      commandUnder(contracts, {
        type: 'entry',
        aggregateVersion: BigInt(version),
        operationId,
        eventId: operationId,
        data: { amount, currency: 'CZK' },
      })
    const state = new KeptState(contracts)
    state.judge([opening('alice')])
    expect(verdicts(state, [of(1, '-2000000', 'too-much'), of(2, '5', 'next')])).toEqual(answers)
    expect(head(state)).toBe(headAfter + (finalRejection === 'takes-version' ? 1n : 0n))
    expect(state.waiting).toBe(waiting)
    expect(verdicts(state, [of(1, '-2000000', 'too-much')])).toEqual(['DUPLICATE'])
    if (finalRejection === 'takes-version') return
    expect(verdicts(state, [of(1, '7', 'another')])).toEqual(['APPLIED'])
    expect([head(state), balanceOf(state), state.waiting]).toEqual([2n, 12n, 0])
  })

  it('[ADJ-5] [ORD-2] a predecessor that is refused for now is parked, its version stays open, and its successors wait', () => {
    const state = new KeptState()
    expect(verdicts(state, [entry({ version: 2 }), entry({ version: 1 })])).toEqual(['DEFERRED', 'PARKED'])
    expect([head(state), state.waiting]).toEqual([0n, 1])
    expect(verdicts(state, [opening('alice'), entry({ version: 1 })])).toEqual(['APPLIED', 'APPLIED'])
    expect([head(state), state.waiting]).toEqual([2n, 0])
  })

  it('[IDN-1] [ORD-2] an event id used for two operations, or with two intents, waits as two commands', () => {
    const state = opened()
    const one = entry({ version: 2, operationId: 'a', eventId: 'same' })
    const other = entry({ version: 2, operationId: 'b', eventId: 'same' })
    const changed = entry({ version: 2, operationId: 'a', eventId: 'same', amount: '9' })
    for (const each of [one, other, changed]) expect(verdicts(state, [each])).toEqual(['DEFERRED'])
    expect(state.waiting).toBe(3)
    expect(state.judge([entry({ version: 1 })]).decisions.map(({ judgement }) => judgement.verdict)).toEqual([
      'APPLIED',
      'APPLIED',
      'CONFLICT',
      'CONFLICT',
    ])
    expect([state.waiting, balanceOf(state)]).toEqual([0, 2n])
  })

  it('[ORD-1] what lies before the beginning of a sequence is STALE, again and again, and has no effect', () => {
    const state = opened()
    state.sequences.set(aggregateIdOf('bank', 'alice'), 100n)
    const old = entry({ version: 7 })
    expect(verdicts(state, [old])).toEqual(['STALE'])
    expect(verdicts(state, [old, entry({ version: 101 })])).toEqual(['STALE', 'APPLIED'])
    expect(state.rows).toMatchObject({ operations: 2, audits: 0, events: 3 })
  })

  it('[ORD-2] without commands judges all whose turn it is', () => {
    const state = opened()
    state.judge([entry({ version: 3 }), entry({ version: 2 })])
    state.sequences.set(aggregateIdOf('bank', 'alice'), 1n)
    const { decisions, judgements } = state.judge([])
    expect(judgements).toEqual([])
    expect(decisions.map(({ command: of, cause }) => [of.aggregateVersion, cause])).toEqual([
      [2n, -1],
      [3n, -1],
    ])
    expect([head(state), state.waiting]).toEqual([3n, 0])
  })
})

describe('a snapshot', () => {
  const limit = (version: number, overdraftLimit: string): Command =>
    command({
      type: 'limit',
      aggregateVersion: BigInt(version),
      operationId: `limit-${version}`,
      eventId: `limit-${version}`,
      data: { currency: 'CZK', overdraftLimit },
    })

  it('[ORD-4] keeps the highest version in any order; older ones are STALE', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([1, 2, 3, 4, 5, 6], { minLength: 1 }), fc.integer({ min: 1, max: 3 }), (versions, size) => {
        const state = opened()
        const answers: string[] = []
        for (let at = 0; at < versions.length; at += size)
          answers.push(
            ...verdicts(
              state,
              versions.slice(at, at + size).map((version) => limit(version, String(version))),
            ),
          )
        const highestSoFar = versions.map((_, i) => Math.max(...versions.slice(0, i + 1)))
        expect(answers).toEqual(versions.map((version, i) => (version === highestSoFar[i] ? 'APPLIED' : 'STALE')))
        const [account] = [...state.accounts.values()]
        expect(account).toMatchObject({ overdraftLimitMinor: BigInt(Math.max(...versions)), version: 0n })
      }),
      { numRuns: 200 },
    )
  })
})

describe('a tenant-wide identity', () => {
  const pay = (businessKey: string, eventId: string, amount = '1'): Command =>
    command({ type: 'pay', businessKey, operationId: 'payment-1', eventId, data: { amount, currency: 'CZK' } })

  it('[RTE-2] [IDN-6] belongs to the business key that claimed it first, in one batch and in two', () => {
    for (const cut of [1, 2]) {
      const state = new KeptState()
      state.judge([opening('alice'), opening('bob')])
      const both = [pay('alice', 'a'), pay('bob', 'b')]
      const answers = cut === 1 ? verdicts(state, both) : both.flatMap((each) => verdicts(state, [each]))
      expect(answers).toEqual(['APPLIED', 'CONFLICT'])
      expect([state.bindings.size, state.rows.audits]).toEqual([1, 1])
      expect(verdicts(state, [pay('alice', 'c')])).toEqual(['DUPLICATE'])
      expect(verdicts(state, [pay('alice', 'd', '2')])).toEqual(['CONFLICT'])
    }
  })

  it('[RTE-2] keeps its identity when it was refused, for now or for good', () => {
    const state = new KeptState()
    expect(verdicts(state, [pay('alice', 'a')])).toEqual(['PARKED'])
    state.judge([opening('bob'), opening('alice')])
    expect(verdicts(state, [pay('bob', 'b'), pay('alice', 'c', '2'), pay('alice', 'd')])).toEqual(['CONFLICT', 'CONFLICT', 'APPLIED'])
  })
})
