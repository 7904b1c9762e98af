import { type CommandToSend, gapsTopicOf } from '@onceledger/core'
import { loadFigures, loadProgress } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import { bucketOf } from '@onceledger/shard-map'
import {
  endpointsFromEnv,
  readTopic,
  seededRandom,
  type ShardProcess,
  startShardProcess,
  type TestLedger,
  uuidv7,
  waitForLagZero,
} from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createScenarioLedger, databaseOf, metricOf, send, TENANT, waitForApplied } from './support/scenario.ts'

const random = seededRandom(21)
const LAG_TIMEOUT_MS = 60_000
let ledger: TestLedger
const running = new Set<ShardProcess>()
beforeEach(async () => {
  ledger = await createScenarioLedger(endpointsFromEnv(), 'order')
})
afterEach(async () => {
  for (const shard of running) shard.kill('SIGKILL')
  await Promise.all([...running].map((shard) => shard.exited))
  running.clear()
  await ledger.close({ drop: true })
})

async function start(more: Readonly<Record<string, string>> = {}): Promise<ShardProcess> {
  const shard = await startShardProcess({ shard: 0, env: { ...ledger.env(), ONCELEDGER_SESSION_TIMEOUT_MS: '6000', ...more } })
  running.add(shard)
  return shard
}

function command(type: string, key: string, operationId: string, data: Record<string, string>, version?: number): CommandToSend {
  return {
    type,
    tenantId: TENANT,
    businessKey: key,
    eventId: uuidv7(Date.now(), random),
    operationId,
    ...(version === undefined ? {} : { aggregateVersion: BigInt(version) }),
    source: '/test',
    data: { currency: 'EUR', ...data },
  }
}

const open = (key: string): CommandToSend => command('open.v1', key, 'open', { overdraftLimit: '0' })
const entry = (key: string, version: number): CommandToSend => command('entry.v1', key, `entry-${version}`, { amount: '5' }, version)

const lagZero = (): Promise<unknown> => waitForLagZero(ledger.databases, ledger.admin, ledger.topic, LAG_TIMEOUT_MS)

describe('commands that come out of order', () => {
  it('[ORD-3] have their predecessor asked for, once in an interval, until it comes', async () => {
    const shard = await start({ ONCELEDGER_GAP_INTERVAL_MS: '1500' })
    await send(ledger, [open('anna'), entry('anna', 1), entry('anna', 4), entry('anna', 5), entry('anna', 7)])
    await lagZero()
    const requests = await waitFor(
      async () => {
        const seen = await readTopic(ledger, gapsTopicOf(ledger.topic))
        return seen.length >= 2 ? seen : null
      },
      { timeoutMs: 30_000, intervalMs: 500, what: 'two requests' },
    )
    const events = requests.map(({ value }) => JSON.parse(value) as { id: string; data: Record<string, unknown> })
    expect(events[0]?.data).toMatchObject({
      headVersion: '1',
      missing: [
        { from: '2', to: '3' },
        { from: '6', to: '6' },
      ],
      waiting: 3,
      request: 1,
    })
    expect(requests[0]?.key).toBe(`${TENANT}/anna`)
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
    const between = (requests[1]?.timestampMs ?? 0) - (requests[0]?.timestampMs ?? 0)
    expect(between).toBeGreaterThanOrEqual(1_400)
    expect(await metricOf(shard, 'onceledger_gaps')).toBe(1)
    expect(await metricOf(shard, 'onceledger_deferred_commands')).toBe(3)

    await send(ledger, [entry('anna', 6), entry('anna', 3), entry('anna', 2)])
    await lagZero()
    expect(await loadFigures(databaseOf(ledger))).toMatchObject({ operations: 8, postings: 7, deferred: 0, gaps: 0 })
    await waitFor(async () => (await metricOf(shard, 'onceledger_gaps')) === 0, { timeoutMs: 10_000, what: 'the metric to fall' })
  })

  it('[ORD-2] [ADJ-8] [LAB-2] keep order and one effect each through rebalances, kills and a second process', async () => {
    const keys = Array.from({ length: 10 }, (_, i) => `account-${i}`)
    const versions = 80
    const entries = keys.flatMap((key) =>
      Array.from({ length: versions }, (_, i) => ({ at: i + random() * 10, command: entry(key, i + 1) })),
    )
    const again = entries.filter(() => random() < 0.3).map(({ at, command: first }) => ({ at: at + random() * 20, command: first }))
    const sent = [...keys.map(open), ...[...entries, ...again].sort((left, right) => left.at - right.at).map((each) => each.command)]
    const small = { ONCELEDGER_BATCH_RECORDS: '15', ONCELEDGER_CONNECTIONS: '2' }
    const first = await start(small)
    const sending = send(ledger, sent, 150)
    await waitForApplied(ledger, 100)
    const second = await start(small)
    await waitForApplied(ledger, 300)
    first.kill('SIGKILL')
    await first.exited
    running.delete(first)
    await start(small)
    await waitForApplied(ledger, 600)
    await second.stop()
    running.delete(second)
    await sending
    await lagZero()
    expect(await loadFigures(databaseOf(ledger))).toMatchObject({
      operations: keys.length * (versions + 1),
      postings: keys.length * versions,
      deferred: 0,
      parked: 0,
    })
    const [rows = []] = await databaseOf(ledger).withSession((session) =>
      session.run(`SELECT COUNT(*) FROM operation WHERE amount <> 0 AND balance_after <> account_version * 5`),
    )
    expect(Number(rows[0]?.[0])).toBe(0)
  })
})

describe('a parking storm', () => {
  const KEY = 'anna'
  const bad = (count: number): CommandToSend[] => Array.from({ length: count }, (_, i) => command('gift.v1', KEY, `gift-${i}`, {}))
  const positionOf = async (partition: number): Promise<bigint> =>
    (await loadProgress(databaseOf(ledger), ledger.topic)).find((each) => each.partition === partition)?.nextOffset ?? 0n

  it('[ADJ-10] stops its partition with the reason and loses nothing; the others go on, and an operator lets it pass', async () => {
    const partition = bucketOf(TENANT, KEY, ledger.bucketCount)
    const other =
      Array.from({ length: 100 }, (_, i) => `key-${i}`).find((key) => bucketOf(TENANT, key, ledger.bucketCount) !== partition) ?? ''
    const shard = await start({ ONCELEDGER_PARKED_MAX: '20' })
    await send(ledger, [open(KEY), ...bad(8)])
    await lagZero()
    expect(await loadFigures(databaseOf(ledger))).toMatchObject({ parked: 8 })

    await send(ledger, [...bad(40), entry(KEY, 1), open(other)])
    const reasons = await waitFor(
      async () => {
        const { ok, reasons: why } = await shard.readiness()
        return ok ? null : why
      },
      { timeoutMs: 30_000, what: 'readiness to turn red' },
    )
    expect(reasons[`partition-${partition}`]).toMatch(/PARKING_STORM.*ONCELEDGER_PARKED_MAX/)
    await waitForApplied(ledger, 10)
    expect(await positionOf(partition)).toBe(9n)
    expect(await loadFigures(databaseOf(ledger))).toMatchObject({ parked: 8, operations: 2 })
    expect((await shard.stop()).code).toBe(0)
    running.delete(shard)

    await start({ ONCELEDGER_PARKED_MAX: '1000' })
    await lagZero()
    expect(await loadFigures(databaseOf(ledger))).toMatchObject({ parked: 48, operations: 3, postings: 1 })
  })
})
