import { encodeCommand, type CommandToSend } from '@onceledger/core'
import { listParked, loadBalances, loadFigures, loadProgress } from '@onceledger/ledger-store'
import { bucketOf } from '@onceledger/shard-map'
import { endpointsFromEnv, seededRandom, type ShardProcess, startShardProcess, type TestLedger, waitForLagZero } from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createScenarioLedger, databaseOf, deposit, TENANT } from './support/scenario.ts'

const random = seededRandom(51)
let ledger: TestLedger
let shard: ShardProcess
beforeEach(async () => {
  ledger = await createScenarioLedger(endpointsFromEnv(), 'input')
  shard = await startShardProcess({ shard: 0, env: ledger.env() })
})
afterEach(async () => {
  await shard.stop()
  await ledger.close({ drop: true })
})

async function settle(): Promise<void> {
  await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, 60_000)
}

async function balanceOf(key: string): Promise<bigint | undefined> {
  return (await loadBalances(databaseOf(ledger))).find(({ businessKey }) => businessKey === key)?.balanceMinor
}

async function rawParked(): Promise<Map<string, Buffer>> {
  const [rows = []] = await databaseOf(ledger).withSession((session) =>
    session.run('SELECT partition_no, source_offset, record_value FROM parked'),
  )
  return new Map(rows.map(([partition, offset, value]) => [`${String(partition)}@${String(offset)}`, value as Buffer]))
}

/** All of one account, so that they are one partition and can be one batch. */
function depositsTo(key: string, count: number): CommandToSend[] {
  return Array.from({ length: count }, (_, i) => deposit(random, { key, operationId: `${key}-${i}`, amount: 1n }))
}

describe('bad input', () => {
  it('[ADJ-7] [ADJ-10] a poison message in the middle of a batch of 1,000 is parked alone', async () => {
    // Two keys of one partition: the second one's row is then made to contradict its key.
    const victim = Array.from({ length: 1_000 }, (_, i) => `victim-${i}`).find(
      (key) => bucketOf(TENANT, key, ledger.bucketCount) === bucketOf(TENANT, 'good', ledger.bucketCount),
    )
    if (victim === undefined) throw new Error('no key of the same bucket')
    await ledger.producer.send(ledger.topic, depositsTo(victim, 1).map(encodeCommand))
    await settle()
    await databaseOf(ledger).withSession((session) =>
      session.run(`UPDATE account SET business_key = 'other' WHERE business_key = '${victim}'`),
    )
    const good = depositsTo('good', 999)
    const poison = deposit(random, { key: victim, operationId: 'poison', amount: 5n })
    await ledger.producer.send(ledger.topic, [...good.slice(0, 500), poison, ...good.slice(500)].map(encodeCommand))
    await settle()
    expect(await balanceOf('good')).toBe(999n)
    expect(await listParked(databaseOf(ledger), { limit: 10 })).toMatchObject([
      { reason: 'ACCOUNT_CORRUPT', tenantId: TENANT, retryable: false },
    ])
    expect([...(await rawParked()).values()][0]?.toString('utf8')).toBe(encodeCommand(poison).value)
    expect((await shard.readiness()).ok).toBe(true)
  })

  it('[ADJ-10] 1,000 messages of random bytes are parked byte for byte, and the good ones between them applied', async () => {
    const good = depositsTo('good', 200)
    const sent = new Map<string, string>()
    for (let i = 0; i < 200; i++) {
      const partition = Math.floor(random() * ledger.bucketCount)
      const rubbish = Array.from({ length: 5 }, () =>
        Buffer.from(Array.from({ length: 1 + Math.floor(random() * 300) }, () => Math.floor(random() * 256))),
      )
      const command = good[i]
      const ranges = await ledger.producer.send(ledger.topic, [
        ...rubbish.map((value, k) => ({
          key: null,
          value,
          partition,
          ...(k % 2 === 0 ? { headers: { 'content-type': 'application/cloudevents+json' } } : {}),
        })),
        ...(command === undefined ? [] : [encodeCommand(command)]),
      ])
      const base = ranges.find((range) => range.partition === partition)?.baseOffset
      if (base === null || base === undefined) throw new Error('the broker did not say where the rubbish came to stand')
      for (const [k, value] of rubbish.entries()) sent.set(`${partition}@${base + BigInt(k)}`, value.toString('hex'))
    }
    await settle()
    expect(await balanceOf('good')).toBe(200n)
    expect(await loadFigures(databaseOf(ledger))).toMatchObject({ operations: 200, inboxRows: 200, parked: 1_000 })
    const kept = new Map([...(await rawParked())].map(([position, value]) => [position, value.toString('hex')]))
    expect(kept).toEqual(sent)
  })

  it('[RTE-1] [RTE-2] a message in a partition that is not its own is parked as misrouted and never applied', async () => {
    const command = deposit(random, { key: 'lost', operationId: 'lost-1', amount: 7n })
    const wrong = (bucketOf(TENANT, 'lost', ledger.bucketCount) + 1) % ledger.bucketCount
    await ledger.producer.send(ledger.topic, [{ ...encodeCommand(command), partition: wrong }])
    await settle()
    expect(await balanceOf('lost')).toBeUndefined()
    expect(await listParked(databaseOf(ledger), { limit: 10 })).toMatchObject([{ reason: 'MISROUTED', partition: wrong }])
    await ledger.producer.send(ledger.topic, [encodeCommand(command)])
    await settle()
    expect(await balanceOf('lost')).toBe(7n)
  })

  it('[IDN-6] [IDN-7] the same operation with another amount is a conflict with its audit row, and the first result stays', async () => {
    const first = deposit(random, { key: 'alice', operationId: 'pay-1', amount: 100n })
    const other = deposit(random, { key: 'alice', operationId: 'pay-1', amount: 200n })
    await ledger.producer.send(ledger.topic, [first, other, first, other].map(encodeCommand))
    await settle()
    expect(await balanceOf('alice')).toBe(100n)
    const [rows = []] = await databaseOf(ledger).withSession((session) =>
      session.run('SELECT kind, seen_count, intent FROM conflict_audit'),
    )
    expect(rows.map(([kind, seen, intent]) => [kind, Number(seen), (intent as { amount: string }).amount])).toEqual([
      ['CONFLICT', 2, '200'],
    ])
    const progress = await loadProgress(databaseOf(ledger), ledger.topic)
    const sum = (verdict: 'applied' | 'duplicate' | 'conflict'): bigint => progress.reduce((total, { tally }) => total + tally[verdict], 0n)
    expect([sum('applied'), sum('duplicate'), sum('conflict')]).toEqual([1n, 1n, 2n])
  })

  it.each([2n ** 53n + 1n, 2n ** 63n - 1n])('[IDN-5] the amount %s survives every path', async (amount) => {
    await ledger.producer.send(ledger.topic, [encodeCommand(deposit(random, { key: 'rich', operationId: 'big', amount }))])
    await settle()
    expect(await balanceOf('rich')).toBe(amount)
  })

  it('[IDN-5] an amount that would overflow is parked, and the balance stays', async () => {
    const max = deposit(random, { key: 'rich', operationId: 'max', amount: 2n ** 63n - 1n })
    const more = deposit(random, { key: 'rich', operationId: 'more', amount: 1n })
    await ledger.producer.send(ledger.topic, [max, more].map(encodeCommand))
    await settle()
    expect(await balanceOf('rich')).toBe(2n ** 63n - 1n)
    expect(await listParked(databaseOf(ledger), { limit: 10 })).toMatchObject([{ reason: 'BALANCE_OVERFLOW', retryable: true }])
  })
})
