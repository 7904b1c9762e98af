import { StoreUnavailable } from '@onceledger/ledger-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTwoShards, type TwoShards } from '../../support/two-shards.ts'
import { verdictsOf } from './outcomes.ts'

let ledger: TwoShards
beforeEach(async () => {
  ledger = await createTwoShards()
})
afterEach(() => ledger.drop())

async function count(shard: number, sql: string): Promise<number> {
  const rows = await ledger.databases[shard]?.withSession((session) => session.run(sql))
  return Number(rows?.[0]?.[0]?.[0])
}

const everywhere = async (sql: string): Promise<number> => (await count(0, sql)) + (await count(1, sql))
const PAID = `SELECT COUNT(*) FROM operation AS o WHERE verdict = 1 AND amount < 0`

async function fund(...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const adjudicator = await ledger.adjudicator(ledger.shardOf(key))
    expect(verdictsOf(await adjudicator.judge(ledger.batch([ledger.command('deposit.v1', key, 'fund', { amount: '1000' })])))).toEqual([
      'APPLIED',
    ])
  }
}

async function pay(key: string, identity: string, amount = '10', setup: Parameters<TwoShards['adjudicator']>[1] = {}): Promise<string> {
  const adjudicator = await ledger.adjudicator(ledger.shardOf(key), setup)
  return verdictsOf(await adjudicator.judge(ledger.batch([ledger.command('pay.v1', key, identity, { amount })])))[0] ?? ''
}

describe('a tenant-wide identity', () => {
  it.each([
    ['two keys of the same shard, at home there', 0, 0, 0],
    ['two keys of the same shard, at home in the other', 0, 0, 1],
    ['two keys of two shards, at home with the first', 0, 1, 0],
    ['two keys of two shards, at home with the second', 0, 1, 1],
  ])('[RTE-2] [IDN-6] used by %s, has one effect: the other use is CONFLICT with an audit row', async (_case, first, second, home) => {
    const [one, other] = [ledger.keyIn(first, 0), ledger.keyIn(second, 1)]
    const identity = ledger.identityIn(home)
    await fund(one, other)
    expect([await pay(one, identity), await pay(other, identity), await pay(one, identity), await pay(other, identity)]).toEqual([
      'APPLIED',
      'CONFLICT',
      'DUPLICATE',
      'CONFLICT',
    ])
    expect(await everywhere(PAID)).toBe(1)
    expect(await everywhere('SELECT COUNT(*) FROM binding')).toBe(1)
    expect(await count(home, 'SELECT COUNT(*) FROM binding')).toBe(1)
    expect(await count(second, 'SELECT COUNT(*) FROM conflict_audit')).toBe(2)
  })

  it('[RTE-2] claimed by many keys of both shards at once has one effect each, whatever the interleaving', async () => {
    // Of four partitions, so that nothing but the identities keeps them apart.
    const candidates = [0, 1].flatMap((shard) => Array.from({ length: 20 }, (_, i) => ledger.keyIn(shard, i)))
    const byPartition = Map.groupBy(candidates, (key) => ledger.partitionOf(key))
    const keys = [...byPartition.values()].flatMap(([key]) => key ?? []).filter((_, i) => i % 2 === 0)
    expect(new Set(keys.map((key) => ledger.shardOf(key))).size).toBe(2)
    await fund(...keys)
    const identities = [0, 1].flatMap((home) => Array.from({ length: 20 }, (_, i) => ledger.identityIn(home, i)))
    const answers = await Promise.all(
      keys.map(async (key) => {
        const adjudicator = await ledger.adjudicator(ledger.shardOf(key))
        const verdicts: string[] = []
        for (const identity of identities) {
          const outcome = await adjudicator.judge(ledger.batch([ledger.command('pay.v1', key, identity, { amount: '1' })]))
          verdicts.push(...verdictsOf(outcome))
        }
        return verdicts
      }),
    )
    for (const [i] of identities.entries())
      expect(answers.map((verdicts) => verdicts[i] ?? '').toSorted((left, right) => left.localeCompare(right))).toEqual([
        'APPLIED',
        'CONFLICT',
        'CONFLICT',
        'CONFLICT',
      ])
    expect(await everywhere(PAID)).toBe(identities.length)
    expect(await everywhere('SELECT COUNT(*) FROM conflict_audit')).toBe(identities.length * 3)
  })

  it('[RTE-2] claimed by a process that dies before it judges is used by the retry, and refused to everybody else', async () => {
    const [one, other] = [ledger.keyIn(0), ledger.keyIn(1)]
    const identity = ledger.identityIn(1)
    await fund(one, other)
    const adjudicator = await ledger.adjudicator(0, {
      failpoints: {
        hit(name) {
          if (name === 'binding.after-claim') throw new StoreUnavailable('DIED', 'between the claim and the judgement')
        },
      },
    })
    const batch = ledger.batch([ledger.command('pay.v1', one, identity, { amount: '10' })])
    await expect(adjudicator.judge(batch)).rejects.toMatchObject({ code: 'DIED' })
    expect([await everywhere('SELECT COUNT(*) FROM binding'), await everywhere(PAID)]).toEqual([1, 0])
    expect(await pay(other, identity)).toBe('CONFLICT')
    expect(verdictsOf(await (await ledger.adjudicator(0)).judge(batch))).toEqual(['APPLIED'])
    expect(await everywhere(PAID)).toBe(1)
  })

  it('[RTE-2] [ADJ-5] stays with a first intent that was finally rejected, or is parked', async () => {
    const [one, other] = [ledger.keyIn(0), ledger.keyIn(1)]
    await fund(one, other)
    const rejected = ledger.identityIn(1)
    expect([await pay(one, rejected, '5000'), await pay(other, rejected, '5000'), await pay(one, rejected, '5000')]).toEqual([
      'REJECTED',
      'CONFLICT',
      'DUPLICATE',
    ])
    for (const home of [0, 1]) {
      const parked = ledger.identityIn(home, 3)
      const unopened = ledger.keyIn(0, 5 + home)
      expect([await pay(unopened, parked), await pay(unopened, parked, '11'), await pay(other, parked)]).toEqual([
        'PARKED',
        'CONFLICT',
        'CONFLICT',
      ])
      await fund(unopened)
      expect(await pay(unopened, parked)).toBe('APPLIED')
    }
    expect([
      await everywhere('SELECT COUNT(*) FROM parked'),
      await everywhere(`SELECT COUNT(*) FROM parked WHERE reason = 'ACCOUNT_NOT_FOUND'`),
    ]).toEqual([2, 2])
  })

  it('[RTE-2] lost by a home that came back from a backup is claimed again where its command is judged again', async () => {
    const [one, other] = [ledger.keyIn(0), ledger.keyIn(1)]
    const identity = ledger.identityIn(1)
    await fund(one, other)
    const batch = ledger.batch([ledger.command('pay.v1', one, identity, { amount: '10' })])
    const judgeAgain = async (): Promise<string[]> =>
      verdictsOf(await (await ledger.adjudicator(0)).judge({ ...batch, source: { ...batch.source, redelivery: true } }))
    expect(await judgeAgain()).toEqual(['APPLIED'])
    await ledger.databases[1]?.withSession((session) => session.run('DELETE FROM binding'))
    expect(await judgeAgain()).toEqual(['DUPLICATE'])
    expect(await pay(other, identity)).toBe('CONFLICT')
    expect(await everywhere(PAID)).toBe(1)
  })

  it('[ADJ-4] [RTE-2] whose home shard is away leaves everything undecided, and nothing written', async () => {
    const one = ledger.keyIn(0)
    await fund(one)
    const away = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
    await expect(pay(one, ledger.identityIn(1), '10', { databaseOf: () => Promise.reject(away) })).rejects.toMatchObject({
      name: 'StoreUnavailable',
      code: 'HOME_SHARD_AWAY',
    })
    expect(await everywhere(PAID)).toBe(0)
    expect(await everywhere('SELECT COUNT(*) FROM parked')).toBe(0)
  })

  it('[RTE-2] whose home bucket is frozen in its shard is not claimed there', async () => {
    const one = ledger.keyIn(0)
    await fund(one)
    await ledger.databases[1]?.withSession((session) => session.run(`UPDATE owned_bucket SET state = 'FROZEN'`))
    await expect(pay(one, ledger.identityIn(1))).rejects.toMatchObject({ code: 'HOME_BUCKET_MOVED' })
    expect(await everywhere('SELECT COUNT(*) FROM binding')).toBe(0)
  })

  it.each([
    ['other', 0],
    ['own', 1],
  ])('[RTE-2] whose home has moved to the %s shard is claimed there once the fence has refused the old map', async (_case, staleHome) => {
    const one = ledger.keyIn(0)
    await fund(one)
    const home = 1 - staleHome
    const identity = ledger.identityIn(home)
    let loads = 0
    const adjudicator = await ledger.adjudicator(0, {
      seeMap: ({ bucketCount, owners }) => {
        const stale = loads++ === 0
        return { bucketCount, owners: owners.map((owner) => (stale ? { ...owner, shard: staleHome } : owner)) }
      },
    })
    const batch = ledger.batch([ledger.command('pay.v1', one, identity, { amount: '10' })])
    if (staleHome === 0) expect(await adjudicator.judge(batch)).toMatchObject({ kind: 'not-owner', state: 'ABSENT' })
    else await expect(adjudicator.judge(batch)).rejects.toMatchObject({ code: 'HOME_BUCKET_MOVED' })
    expect(await everywhere('SELECT COUNT(*) FROM binding')).toBe(0)
    expect(verdictsOf(await adjudicator.judge(batch))).toEqual(['APPLIED'])
    expect(await count(home, 'SELECT COUNT(*) FROM binding')).toBe(1)
    expect(await everywhere('SELECT COUNT(*) FROM parked')).toBe(0)
  })
})
