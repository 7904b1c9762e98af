import { setTimeout as delay } from 'node:timers/promises'
import type { CommandToSend } from '@onceledger/core'
import { loadProgress, type PartitionProgress, resetOffset } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import { endpointsFromEnv, seededRandom, type ShardProcess, startShardProcess, type TestLedger } from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createScenarioLedger, databaseOf, expectTruth, metricOf, send, stream } from './support/scenario.ts'

let ledger: TestLedger
let shard: ShardProcess | null = null
beforeEach(async () => {
  ledger = await createScenarioLedger(endpointsFromEnv(), 'restore')
})
afterEach(async () => {
  shard?.kill('SIGKILL')
  await shard?.exited
  await ledger.close({ drop: true })
})

/** Every table that a shard writes while it judges. */
const TABLES = ['account', 'operation', 'reversal', 'posting', 'inbox', 'conflict_audit', 'parked', 'applied_offset']

async function backUp(): Promise<void> {
  await databaseOf(ledger).withSession(async (session) => {
    await session.run(TABLES.map((table) => `CREATE TABLE backup_${table} LIKE ${table}`).join(';'))
    await session.run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT')
    await session.run(TABLES.map((table) => `INSERT INTO backup_${table} SELECT * FROM ${table}`).join(';'))
    await session.run('COMMIT')
  })
}

/** As a restore to an earlier point does: all tables at once, while consumers live. A deadlock with them is tried again. */
async function putBack(): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await databaseOf(ledger).withSession(async (session) => {
        await session.run('START TRANSACTION')
        await session.run(
          TABLES.toReversed()
            .map((table) => `DELETE FROM ${table}`)
            .join(';'),
        )
        await session.run(TABLES.map((table) => `INSERT INTO ${table} SELECT * FROM backup_${table}`).join(';'))
        await session.run('COMMIT')
      })
      return
    } catch (error) {
      const { errno } = error as { errno?: number }
      if ((errno !== 1213 && errno !== 1205) || attempt >= 20) throw error
      await delay(50)
    }
  }
}

describe('a database restored to an earlier backup', () => {
  const random = seededRandom(31)
  const before = stream(random, 1_500, 'before')
  const lost = stream(random, 1_500, 'lost')
  const after = stream(random, 1_500, 'after')

  async function startAndApply(commands: readonly CommandToSend[]): Promise<ShardProcess> {
    shard = await startShardProcess({ shard: 0, env: { ...ledger.env(), ONCELEDGER_BATCH_RECORDS: '100' } })
    await send(ledger, commands)
    await expectTruth(ledger, commands)
    return shard
  }

  it.each([
    ['while commands arrive', after],
    ['and nothing arrives', []],
  ])('[ADJ-8] %s: live consumers read the commands again from there, and each effect stands once', async (_case, more) => {
    const running = await startAndApply(before)
    await backUp()
    await send(ledger, lost)
    await expectTruth(ledger, [...before, ...lost])
    await putBack()
    await send(ledger, more)
    await expectTruth(ledger, [...before, ...lost, ...more])
    expect(await metricOf(running, 'onceledger_verdicts_total')).toBe(before.length + 2 * lost.length + more.length)
    await waitFor(async () => (await running.readiness()).ok, { timeoutMs: 30_000, what: 'readiness' })
  })

  it('[ADJ-8] from before its first command: nothing is skipped, although no row tells the position', async () => {
    await backUp()
    const running = await startAndApply(before)
    await putBack()
    await send(ledger, after)
    await expectTruth(ledger, [...before, ...after])
    expect(await metricOf(running, 'onceledger_verdicts_total')).toBe(2 * before.length + after.length)
    await waitFor(async () => (await running.readiness()).ok, { timeoutMs: 30_000, what: 'readiness' })
  })
})

describe('a topic that was deleted and created again', () => {
  const commands = stream(seededRandom(32), 2_000)
  /** More than before, so that the old positions lie inside the new log, and reading on there would skip what lies before. */
  const again = stream(seededRandom(33), 2_500, 'again')
  const all = [...commands, ...again]

  async function start(): Promise<ShardProcess> {
    shard = await startShardProcess({ shard: 0, env: ledger.env() })
    return shard
  }

  async function createAgain(): Promise<void> {
    await ledger.admin.deleteTopic(ledger.topic)
    await ledger.admin.ensureTopic({ topic: ledger.topic, partitions: ledger.bucketCount, retentionMs: -1 })
  }

  /** So many partitions have stopped, and readiness says why. */
  async function expectBroken(running: ShardProcess, partitions: number): Promise<void> {
    const broken = async (): Promise<string[]> =>
      Object.values((await running.readiness()).reasons).filter((reason) =>
        /^broken: (DIGEST_MISMATCH|BEYOND_END|RECORD_MISSING)/.test(reason),
      )
    await waitFor(async () => (await broken()).length === partitions, { timeoutMs: 60_000, what: 'every used partition to be reported' })
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(503)
  }

  /** As `ledgerctl offsets reset` does, and the runbook says: then a process starts anew. */
  async function goOnFromTheBeginning(before: readonly PartitionProgress[]): Promise<void> {
    for (const { partition } of before) await resetOffset(databaseOf(ledger), ledger.topic, partition, 0n, BigInt(Date.now()) * 1000n)
    const running = await start()
    await expectTruth(ledger, all, BigInt(commands.length))
    expect(await running.readiness()).toEqual({ ok: true, reasons: {} })
  }

  it('[ADJ-8] is noticed at the next start and not skipped; after the word of an operator nothing has a second effect', async () => {
    const first = await start()
    await send(ledger, commands)
    await expectTruth(ledger, commands)
    await first.stop()
    await createAgain()
    await send(ledger, all)
    const before = await loadProgress(databaseOf(ledger), ledger.topic)
    const running = await start()
    await expectBroken(running, before.length)
    expect(await loadProgress(databaseOf(ledger), ledger.topic)).toEqual(before)
    await running.stop()
    await goOnFromTheBeginning(before)
  })

  it('[ADJ-8] is noticed by a live process and not skipped; after the word of an operator nothing has a second effect', async () => {
    const running = await start()
    await send(ledger, commands)
    await expectTruth(ledger, commands)
    const before = await loadProgress(databaseOf(ledger), ledger.topic)
    await createAgain()
    await send(ledger, all)
    await expectBroken(running, before.length)
    expect(await loadProgress(databaseOf(ledger), ledger.topic)).toEqual(before)
    await running.stop()
    await goOnFromTheBeginning(before)
  })
})
