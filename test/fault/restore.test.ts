import { setTimeout as delay } from 'node:timers/promises'
import { loadProgress, resetOffset, type ShardDatabase } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import { endpointsFromEnv, seededRandom, type ShardProcess, startShardProcess, type TestLedger } from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createScenarioLedger, expectTruth, send, stream } from './support/scenario.ts'

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

function databaseOf(): ShardDatabase {
  const [database] = ledger.databases
  if (database === undefined) throw new Error('no database')
  return database
}

async function backUp(): Promise<void> {
  await databaseOf().withSession(async (session) => {
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
      await databaseOf().withSession(async (session) => {
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
  it('[ADJ-8] makes live consumers read the commands again from there, and each effect stands once', async () => {
    const random = seededRandom(31)
    const before = stream(random, 1_500, 'before')
    shard = await startShardProcess({ shard: 0, env: { ...ledger.env(), ONCELEDGER_BATCH_RECORDS: '100' } })
    await send(ledger, before)
    await expectTruth(ledger, before)
    await backUp()
    const after = stream(random, 3_000, 'after')
    await send(ledger, after.slice(0, 1_500))
    await expectTruth(ledger, [...before, ...after.slice(0, 1_500)])
    await putBack()
    // The next message of each partition shows the consumers where the database stands.
    await send(ledger, after.slice(1_500))
    await expectTruth(ledger, [...before, ...after])
    expect(await waitFor(async () => (await shard?.readiness())?.ok, { timeoutMs: 30_000, what: 'readiness' })).toBe(true)
  })
})

describe('a topic that was deleted and created again', () => {
  it('[ADJ-8] is noticed and not skipped; after the word of an operator nothing has a second effect', async () => {
    const commands = stream(seededRandom(32), 2_000)
    shard = await startShardProcess({ shard: 0, env: ledger.env() })
    await send(ledger, commands)
    await expectTruth(ledger, commands)
    await shard.stop()

    await ledger.admin.deleteTopic(ledger.topic)
    await ledger.admin.ensureTopic({ topic: ledger.topic, partitions: ledger.bucketCount, retentionMs: -1 })
    const again = stream(seededRandom(33), 2_500, 'again')
    const all = [...commands, ...again]
    await send(ledger, all)

    const before = await loadProgress(databaseOf(), ledger.topic)
    shard = await startShardProcess({ shard: 0, env: ledger.env() })
    const running = shard
    await waitFor(async () => Object.keys((await running.readiness()).reasons).length === before.length, {
      timeoutMs: 60_000,
      what: 'every used partition to be reported',
    })
    const { ok, reasons } = await running.readiness()
    expect(ok).toBe(false)
    expect(Object.values(reasons).every((reason) => /^broken: (DIGEST_MISMATCH|BEYOND_END|RECORD_MISSING)/.test(reason))).toBe(true)
    expect(await loadProgress(databaseOf(), ledger.topic)).toEqual(before)
    await running.stop()

    for (const { partition } of before) await resetOffset(databaseOf(), ledger.topic, partition, 0n, BigInt(Date.now()) * 1000n)
    // Tallies go on from the old log; only the comparison with the log's end starts anew.
    await databaseOf().withSession((session) =>
      session.run(
        'UPDATE applied_offset SET applied_count = 0, duplicate_count = 0, conflict_count = 0, rejected_count = 0, parked_count = 0',
      ),
    )
    shard = await startShardProcess({ shard: 0, env: ledger.env() })
    await expectTruth(ledger, all)
    expect((await shard.readiness()).ok).toBe(true)
  })
})
