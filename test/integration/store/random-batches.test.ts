import type { Judgement } from '@onceledger/core'
import { type Batch, type BatchOutcome, type ShardDatabase, StoreUnavailable } from '@onceledger/ledger-store'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type CommandSpec, createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { type PlainAnswer, PlainLedger } from './plain-ledger.ts'
import { isWritePacket, watchedDatabase } from './watched-database.ts'

const ROUNDS = 60
const ITEMS_MAX = 14
const GIVEN_MAX = 10
const SEEDS = [1, 2, 3, 4, 5, 6]

/** mulberry32: a small generator whose seed makes a failure repeatable. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Pick = <T>(choices: readonly T[]) => T

function pickWith(random: () => number): Pick {
  return (choices) => {
    const choice = choices[Math.floor(random() * choices.length)]
    if (choice === undefined) throw new RangeError('nothing to choose from')
    return choice
  }
}

const TYPES = ['deposit', 'deposit', 'withdraw', 'withdraw', 'collect', 'credit', 'open', 'reverse'] as const
const EVENT_IDS = Array.from({ length: 12 }, () => uuidv7())

/** Few keys, ids and amounts, so that duplicates, conflicts and refusals are common. */
function randomSpec(pick: Pick): CommandSpec {
  const type = pick(TYPES)
  const currency = pick(['CZK', 'CZK', 'EUR'])
  const operationId = `op-${pick([...Array(14).keys()])}`
  const identity = { key: pick(['alice', 'bob', 'carol']), type, operationId, eventId: pick(EVENT_IDS) }
  if (type === 'open') return { ...identity, data: { currency, overdraftLimit: pick(['0', '150']) } }
  if (type !== 'reverse') return { ...identity, data: { amount: pick(['50', '100', '300']), currency } }
  const targetOperationId = `op-${pick([...Array(14).keys()])}`
  return { ...identity, data: { targetType: pick(['deposit', 'withdraw', 'open']), targetOperationId, currency } }
}

/** Loses packets, answers and connections, and breaks transactions off, as often as not. */
function unreliable(database: ShardDatabase, random: () => number): ShardDatabase {
  const lost = (): Error => Object.assign(new Error('lost'), { code: 'ECONNRESET' })
  return watchedDatabase(database, {
    async beforePacket(sql, session) {
      const dice = random()
      if (dice < 0.05) throw lost()
      if (!isWritePacket(sql)) return
      if (dice < 0.15) throw Object.assign(new Error('deadlock'), { errno: 1213 })
      if (dice < 0.3) return sql.replace(/COMMIT$/, 'INSERT INTO owned_bucket VALUES (0, 1, 1, 0);COMMIT')
      if (dice < 0.4) {
        await session.run(sql)
        throw lost()
      }
    },
  })
}

function answerOf({ verdict, reason, first }: Judgement): PlainAnswer {
  return { verdict, reason, first: first === null ? null : [first.amountMinor, first.accountVersion, first.balanceAfterMinor] }
}

interface Round {
  readonly batch: Batch
  readonly specs: readonly CommandSpec[]
}

/** Gives the batch again as long as the store says that it may be. */
async function judgeStubbornly(ledger: StoreLedger, batch: Batch, random: () => number): Promise<BatchOutcome> {
  for (let attempt = 1; attempt <= GIVEN_MAX; attempt++) {
    try {
      return await ledger.adjudicator({ database: unreliable(ledger.database, random) }).judge(batch)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
    }
  }
  throw new Error(`not judged although given ${GIVEN_MAX} times`)
}

/** One batch through the real store. Null where a lost answer left only the position behind. */
async function throughStore(ledger: StoreLedger, batch: Batch, random: () => number): Promise<PlainAnswer[] | null> {
  const outcome = await judgeStubbornly(ledger, batch, random)
  if (outcome.kind === 'committed') {
    expect(outcome.nextOffset).toBe(batch.source.nextOffset)
    return outcome.judgements.map(answerOf)
  }
  expect(outcome).toMatchObject({ kind: 'position', nextOffset: batch.source.nextOffset })
  return null
}

describe('random batches through an unreliable connection', () => {
  it.each(SEEDS)('[ADJ-1] [ADJ-2] [ADJ-3] get the verdicts of the plain rules and leave the same ledger (seed %i)', async (seed) => {
    const ledger = await createStoreLedger()
    onTestFinished(() => ledger.drop())
    const random = randomOf(seed)
    const pick = pickWith(random)
    const plain = new PlainLedger()
    const rounds: Round[] = []
    let compared = 0
    for (let i = 0; i < ROUNDS; i++) {
      const specs = Array.from({ length: 1 + Math.floor(random() * ITEMS_MAX) }, () => randomSpec(pick))
      const round = { specs, batch: ledger.batch(specs) }
      rounds.push(round)
      const answers = await throughStore(ledger, round.batch, random)
      const expected = specs.map((spec) => plain.judge(spec))
      if (answers !== null) {
        expect(answers).toEqual(expected)
        compared += answers.length
      }
    }
    const accounts = await ledger.rows(`SELECT business_key, currency, balance, version FROM account WHERE business_key NOT LIKE '@%'`)
    const asText = accounts.map(
      ([key, currency, balance, version]) => `${String(key)} ${String(currency)} ${String(balance)} ${String(version)}`,
    )
    expect(asText.toSorted()).toEqual([...plain.accounts].map(([name, { balance, version }]) => `${name} ${balance} ${version}`).toSorted())
    const decided = 'SELECT (SELECT COUNT(*) FROM operation) + (SELECT COUNT(*) FROM inbox WHERE payload_digest IS NOT NULL)'
    expect(await ledger.value(decided)).toBe(String(plain.decided.size))
    expect(await ledgerViolations(ledger)).toEqual([])
    const messages = rounds.reduce((sum, { specs }) => sum + specs.length, 0)
    const tally = 'SELECT applied_count + duplicate_count + conflict_count + rejected_count + parked_count FROM applied_offset'
    expect(await ledger.value(tally)).toBe(String(messages))
    expect(await ledger.value('SELECT COUNT(*) FROM parked')).toBe(await ledger.value('SELECT parked_count FROM applied_offset'))
    expect(compared).toBeGreaterThan(messages / 2)
  })
})
