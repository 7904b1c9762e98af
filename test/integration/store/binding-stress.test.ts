import type { CommandToSend, Verdict } from '@onceledger/core'
import { type Adjudicator, type Batch, StoreUnavailable } from '@onceledger/ledger-store'
import { type Random, seededRandom } from '@onceledger/testkit'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createTwoShards, type TwoShards } from '../../support/two-shards.ts'
import { judgementsOf, verdictsOf } from './outcomes.ts'

const SHARDS = [0, 1]
const KEYS_A_PARTITION = 3
const IDENTITIES = 200
const BATCHES_A_PARTITION = 8
const BATCH_SIZE = 25
const TRIES_MAX = 50

interface Use {
  readonly operationId: string
  readonly intent: string
  readonly verdict: Verdict
}

function pick<T>(random: Random, from: readonly T[]): T {
  const one = from[Math.floor(random() * from.length)]
  if (one === undefined) throw new RangeError('nothing to choose from')
  return one
}

/** A process that dies around every sixth claim, and is started again. */
function mortal(ledger: TwoShards, shard: number, random: Random): Promise<Adjudicator> {
  const hit = (name: string): void => {
    if (random() < 0.08) throw new StoreUnavailable('DIED', name)
  }
  return ledger.adjudicator(shard, { failpoints: { hit } })
}

async function judgeUntilDone(adjudicator: Adjudicator, batch: Batch): Promise<readonly Verdict[]> {
  for (let i = 0; i < TRIES_MAX; i++) {
    try {
      return judgementsOf(await adjudicator.judge(batch)).map(({ verdict }) => verdict)
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || error.code !== 'DIED') throw error
    }
  }
  throw new Error('no batch is that unlucky')
}

/** Payments of one partition, one batch after the other, under identities that all partitions of both shards use. */
async function payFrom(ledger: TwoShards, keys: readonly string[], adjudicator: Adjudicator, random: Random): Promise<Use[]> {
  const uses: Use[] = []
  for (let i = 0; i < BATCHES_A_PARTITION; i++) {
    const commands = Array.from({ length: BATCH_SIZE }, (): CommandToSend => {
      const operationId = `payment-${Math.floor(random() * IDENTITIES)}`
      return ledger.command('pay.v1', pick(random, keys), operationId, { amount: pick(random, ['1', '2']) })
    })
    const verdicts = await judgeUntilDone(adjudicator, ledger.batch(commands))
    for (const [at, { businessKey, operationId = '', data }] of commands.entries())
      uses.push({ operationId, intent: `${businessKey} ${data['amount'] ?? ''}`, verdict: verdicts[at] ?? 'PARKED' })
  }
  return uses
}

async function rowsOf(ledger: TwoShards, sql: string): Promise<string[]> {
  const found = await Promise.all(ledger.databases.map((database) => database.withSession((session) => session.run(sql))))
  return found.flatMap(([rows = []]) => rows.map((row) => String(row[0]))).toSorted()
}

describe('tenant-wide identities under stress', () => {
  it.each([1, 2, 3])('[RTE-2] used all over two shards by processes that die, each has one effect (seed %i)', async (seed) => {
    const ledger = await createTwoShards()
    onTestFinished(() => ledger.drop())
    const random = seededRandom(seed)
    const keys = SHARDS.flatMap((shard) => Array.from({ length: 60 }, (_, i) => ledger.keyIn(shard, i)))
    const partitions = [...Map.groupBy(keys, (key) => ledger.partitionOf(key)).values()].map((of) => of.slice(0, KEYS_A_PARTITION))
    expect(partitions.length).toBe(8)
    const adjudicators = await Promise.all(SHARDS.map((shard) => mortal(ledger, shard, random)))
    const uses = await Promise.all(
      partitions.map(async (of) => {
        const adjudicator = adjudicators[ledger.shardOf(of[0] ?? '')]
        if (adjudicator === undefined) throw new Error('no such shard')
        const funding = of.map((key) => ledger.command('deposit.v1', key, `fund ${key}`, { amount: '100000' }))
        expect(verdictsOf(await adjudicator.judge(ledger.batch(funding)))).toEqual(of.map(() => 'APPLIED'))
        return payFrom(ledger, of, adjudicator, random)
      }),
    )

    const byIdentity = Map.groupBy(uses.flat(), ({ operationId }) => operationId)
    for (const [operationId, all] of byIdentity) {
      const [applied, ...others] = all.filter(({ verdict }) => verdict === 'APPLIED')
      expect([operationId, applied?.verdict, others]).toEqual([operationId, 'APPLIED', []])
      const unexpected = all.filter((use) => use !== applied && use.verdict !== (use.intent === applied?.intent ? 'DUPLICATE' : 'CONFLICT'))
      expect([operationId, unexpected]).toEqual([operationId, []])
    }
    const identities = [...byIdentity.keys()].toSorted()
    expect(identities.length).toBeGreaterThan(IDENTITIES * 0.9)
    const applied = await rowsOf(ledger, `SELECT HEX(operation_id) FROM operation WHERE verdict = 1 AND amount < 0`)
    expect(applied.length).toBe(identities.length)
    expect(await rowsOf(ledger, 'SELECT HEX(operation_id) FROM binding')).toEqual(applied)
    const conflicts = uses.flat().filter(({ verdict }) => verdict === 'CONFLICT')
    expect((await rowsOf(ledger, 'SELECT id FROM conflict_audit')).length).toBe(conflicts.length)
    expect(await rowsOf(ledger, 'SELECT id FROM parked')).toEqual([])
  })
})
