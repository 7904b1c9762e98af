import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Command } from '../src/command.ts'
import { command, HOUR_US, NOW_US, uuidv7 } from './builders.ts'
import { KeptState } from './kept-state.ts'
import { type NaiveAnswer, type NaiveCommand, NaiveLedger, type NaiveType } from './naive-model.ts'

const RUNS = 5_000
const NOW_MS = Number(NOW_US / 1000n)
const HOUR_MS = 3_600_000

const pick = <T>(...choices: [T, ...T[]]): fc.Arbitrary<T> => fc.constantFrom(...choices)
const operationId = pick('op-1', 'op-2', 'op-3', 'op-4')
const amount = fc.oneof({ weight: 6, arbitrary: pick('1', '5', '10', '100') }, { weight: 1, arbitrary: pick('9223372036854775807') })
const currency = fc.oneof({ weight: 5, arbitrary: fc.constant('CZK') }, { weight: 1, arbitrary: fc.constant('EUR') })
/** Of the past, within the clock's skew, and beyond it until a later batch's clock has come closer. */
const timedId = pick(uuidv7(NOW_MS - HOUR_MS, 1), uuidv7(NOW_MS, 2), uuidv7(NOW_MS + 23 * HOUR_MS, 3), uuidv7(NOW_MS + 30 * HOUR_MS, 4))
const ulid = pick('01HF7YAT00AAAAAAAAAAAAAAAA', '01HF7YAT00AAAAAAAAAAAAAAAB')
const credited = fc.oneof(timedId, ulid)
const eventId = fc.oneof(pick('event-1', 'event-2', 'event-3', 'event-4', 'event-5', 'event-6'), credited)

const place = fc
  .record({ tenantId: pick('bank', 'bank', 'bank', 'shop'), businessKey: pick('alice', 'alice', 'alice', 'bob', 'čeněk/1') })
  .map((names) => ({ ...names, bucket: names.businessKey === 'čeněk/1' ? 1 : 0 }))

const money = fc.record({ amount, currency })
const referenced = fc.record({ amount: pick('1', '5'), currency, reference: pick('rent', 'food') })
const moneyWithMore = fc.oneof({ weight: 4, arbitrary: money }, { weight: 1, arbitrary: referenced })

function commands(type: NaiveType, version: number, data: fc.Arbitrary<Record<string, string>>): fc.Arbitrary<NaiveCommand> {
  return fc
    .record({ place, eventId, operationId, data })
    .map(({ place: names, ...rest }) => ({ ...names, type, version, aggregateVersion: null, ...rest }))
}

const credit: fc.Arbitrary<NaiveCommand> = fc
  .record({ place, eventId: credited, data: money })
  .map(({ place: names, ...rest }) => ({ ...names, type: 'credit', version: 1, operationId: null, aggregateVersion: null, ...rest }))

const reversal = fc.record({
  targetType: pick('deposit', 'deposit', 'deposit', 'withdraw', 'collect', 'entry', 'open', 'limit', 'reverse', 'credit', 'nonsense'),
  targetOperationId: operationId,
  currency,
})

const signedMoney = fc.record({ amount: pick('1', '5', '-5', '100', '-1'), currency })

/** Few versions of few keys, so that many meet, wait and collide. */
function versioned(type: NaiveType, data: fc.Arbitrary<Record<string, string>>): fc.Arbitrary<NaiveCommand> {
  return fc
    .tuple(commands(type, 1, data), fc.bigInt({ min: 1n, max: 6n }))
    .map(([each, aggregateVersion]) => ({ ...each, aggregateVersion }))
}

const anyCommand: fc.Arbitrary<NaiveCommand> = fc.oneof(
  { weight: 5, arbitrary: commands('deposit', 1, moneyWithMore) },
  { weight: 3, arbitrary: commands('deposit', 2, referenced) },
  { weight: 3, arbitrary: commands('withdraw', 1, money) },
  { weight: 2, arbitrary: commands('collect', 1, money) },
  { weight: 2, arbitrary: commands('pay', 1, money) },
  { weight: 8, arbitrary: versioned('entry', signedMoney) },
  { weight: 3, arbitrary: versioned('limit', fc.record({ currency, overdraftLimit: pick('0', '50', '500') })) },
  { weight: 3, arbitrary: credit },
  { weight: 2, arbitrary: commands('open', 1, fc.record({ currency, overdraftLimit: pick('0', '50') })) },
  { weight: 4, arbitrary: commands('reverse', 1, reversal) },
)

/** A step may also look back: send an earlier command again, as it was or as another event, or undo it. */
const backward = fc.record({ back: fc.nat(8), undo: fc.boolean(), eventId: fc.option(credited) })
const stream = fc
  .array(fc.record({ fresh: anyCommand, look: fc.option(backward, { freq: 2 }) }), { minLength: 1, maxLength: 60, size: 'max' })
  .map((steps) => {
    const sent: NaiveCommand[] = []
    for (const { fresh, look } of steps) {
      const earlier = look === null ? undefined : sent[sent.length - 1 - look.back]
      if (look === null || earlier === undefined) sent.push(fresh)
      else if (look.undo && earlier.operationId !== null) sent.push(undoing(earlier, fresh))
      else sent.push({ ...earlier, eventId: look.eventId ?? earlier.eventId })
    }
    return sent
  })

function undoing(earlier: NaiveCommand, fresh: NaiveCommand): NaiveCommand {
  const data = { targetType: earlier.type, targetOperationId: earlier.operationId ?? '', currency: earlier.data['currency'] ?? '' }
  return {
    ...earlier,
    type: 'reverse',
    version: 1,
    aggregateVersion: null,
    eventId: fresh.eventId,
    operationId: fresh.operationId ?? 'op-5',
    data,
  }
}

const cuts = fc.array(fc.record({ size: fc.integer({ min: 1, max: 12 }), hoursLater: fc.nat(12) }), { minLength: 1, maxLength: 8 })

interface Portion<T> {
  readonly items: readonly T[]
  readonly hoursLater: number
}

function cut<T>(items: readonly T[], pieces: readonly { size: number; hoursLater: number }[]): Portion<T>[] {
  const portions: Portion<T>[] = []
  for (let at = 0, i = 0; at < items.length; i++) {
    const { size, hoursLater } = pieces[i % pieces.length] ?? { size: 1, hoursLater: 0 }
    portions.push({ items: items.slice(at, at + size), hoursLater })
    at += size
  }
  return portions
}

function sumByCurrency(balances: ReadonlyMap<string, bigint>): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const [name, balance] of balances) {
    const key = name.slice(0, name.indexOf('/') + 1) + name.slice(-3)
    sums.set(key, (sums.get(key) ?? 0n) + balance)
  }
  return sums
}

const EVERY_VERDICT = ['APPLIED', 'CONFLICT', 'DEFERRED', 'DUPLICATE', 'PARKED', 'REJECTED', 'STALE']
const EVERY_REASON = [
  'ACCOUNT_EXISTS',
  'ACCOUNT_NOT_FOUND',
  'AHEAD_OF_SEQUENCE',
  'ALREADY_REVERSED',
  'BALANCE_OVERFLOW',
  'BEHIND_SNAPSHOT',
  'DIGEST_NOT_COMPUTABLE',
  'EVENT_IN_FUTURE',
  'INSUFFICIENT_FUNDS',
  'OTHER_INTENT',
  'TARGET_NOT_FOUND',
  'TARGET_NOT_REVERSIBLE',
  'VERSION_TAKEN',
]

describe('adjudicate, against the rules one command at a time', () => {
  it('[ADJ-1] [ADJ-9] [IDN-6] [IDN-7] gives the same answers and leaves the same rows, with every balance summing to zero', () => {
    const seen = { verdicts: new Set<string>(), reasons: new Set<string>() }
    fc.assert(
      fc.property(stream, cuts, (sent, pieces) => {
        const naive = new NaiveLedger()
        const kept = new KeptState()
        let nowUs = NOW_US
        for (const { items, hoursLater } of cut(sent, pieces)) {
          const replies = items.map((each) => naive.submit(each, nowUs))
          const answers: readonly NaiveAnswer[] = replies.map(({ answer }) => answer)
          expect(kept.judge(items.map(command), nowUs).judgements).toEqual(answers)
          naive.forgetRepeats()
          expect(kept.waiting).toBe(naive.waiting())
          expect(kept.rows).toEqual(naive.counts())
          expect(kept.balances).toEqual(naive.balances())
          expect(kept.versions).toEqual(naive.versions())
          for (const sum of sumByCurrency(kept.balances).values()) expect(sum).toBe(0n)
          for (const { verdict, reason } of answers) {
            seen.verdicts.add(verdict)
            if (reason !== null) seen.reasons.add(reason)
          }
          nowUs += BigInt(hoursLater) * HOUR_US
        }
      }),
      { numRuns: RUNS },
    )
    expect([...seen.verdicts].toSorted()).toEqual(EVERY_VERDICT)
    expect([...seen.reasons].toSorted()).toEqual(EVERY_REASON)
  })

  it('[ADJ-7] does not depend on where the batches are cut', () => {
    const rowsOf = (all: readonly Command[], pieces: Parameters<typeof cut>[1]): unknown => {
      const kept = new KeptState()
      const outcomes = cut(all, pieces).map(({ items }) => kept.judge(items))
      const kinds = ['operations', 'events', 'postings', 'reversals', 'audits', 'parked'] as const
      const rows = kinds.map((kind) => outcomes.flatMap(({ writes }): readonly unknown[] => writes[kind]))
      return { judgements: outcomes.flatMap(({ judgements }) => judgements), rows, accounts: kept.accounts }
    }
    fc.assert(
      fc.property(stream, cuts, (sent, pieces) => {
        const all = sent.filter(({ type }) => type !== 'entry').map(command)
        expect(rowsOf(all, pieces)).toEqual(rowsOf(all, [{ size: all.length, hoursLater: 0 }]))
      }),
      { numRuns: RUNS / 5 },
    )
  })

  it('[ADJ-7] [ORD-2] ends with the same accounts, sequences and waiting commands wherever the batches are cut', () => {
    const endOf = (all: readonly Command[], pieces: Parameters<typeof cut>[1]): unknown => {
      const kept = new KeptState()
      for (const { items } of cut(all, pieces)) kept.judge(items)
      return {
        accounts: kept.accounts,
        sequences: kept.sequences,
        steps: kept.steps,
        waiting: kept.deferredKeys,
        operations: kept.operations,
      }
    }
    fc.assert(
      fc.property(stream, cuts, (sent, pieces) => {
        const all = sent.map(command)
        expect(endOf(all, pieces)).toEqual(endOf(all, [{ size: all.length, hoursLater: 0 }]))
      }),
      { numRuns: RUNS / 5 },
    )
  })
})
