import { loadProgress } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import { endpointsFromEnv, seededRandom, type ShardProcess, startShardProcess, type TestLedger } from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { booksOf } from './support/model.ts'
import {
  createScenarioLedger,
  databaseOf,
  donePrefix,
  expectBooks,
  expectTruth,
  loadTally,
  metricOf,
  send,
  stream,
  waitForApplied,
} from './support/scenario.ts'

const SESSION = { ONCELEDGER_SESSION_TIMEOUT_MS: '6000' }
let ledger: TestLedger
let running: ShardProcess[] = []

beforeEach(async () => {
  ledger = await createScenarioLedger(endpointsFromEnv(), 'process')
  running = []
})
afterEach(async () => {
  for (const shard of running) {
    shard.kill('SIGCONT')
    shard.kill('SIGKILL')
    await shard.exited
  }
  await ledger.close({ drop: true })
})

async function start(env: Record<string, string> = {}): Promise<ShardProcess> {
  const shard = await startShardProcess({ shard: 0, env: { ...ledger.env(), ...SESSION, ...env } })
  running.push(shard)
  return shard
}

describe('the processes of a shard', () => {
  it('[ADJ-1] [ADJ-8] [LAB-2] may be killed at any moment under load', async () => {
    const random = seededRandom(11)
    const commands = stream(random, 8_000)
    const sending = send(ledger, commands, 5)
    for (let kill = 1; kill <= 3; kill++) {
      const shard = await start({ ONCELEDGER_BATCH_RECORDS: '150' })
      await waitForApplied(ledger, kill * 900 + Math.floor(random() * 600))
      shard.kill('SIGKILL')
      expect(await shard.exited).toMatchObject({ signal: 'SIGKILL' })
    }
    await start()
    await sending
    await expectTruth(ledger, commands)
  })

  it('[ADJ-8] share its partitions while others come, go and die', async () => {
    const commands = stream(seededRandom(12), 12_000)
    const first = await start({ ONCELEDGER_BATCH_RECORDS: '100' })
    const sending = send(ledger, commands, 500)
    for (const end of ['SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      const second = await start({ ONCELEDGER_BATCH_RECORDS: '100' })
      await waitFor(async () => (await metricOf(second, 'onceledger_verdicts_total')) > 0, {
        timeoutMs: 30_000,
        what: 'the second process to judge',
      })
      second.kill(end)
      expect(await second.exited).toEqual(end === 'SIGTERM' ? { code: 0, signal: null } : { code: null, signal: 'SIGKILL' })
    }
    await sending
    await expectTruth(ledger, commands)
    expect((await first.readiness()).ok).toBe(true)
  })

  it('[RTE-2] [ADJ-8] are fenced by the database when one was frozen past its session and wakes up', async () => {
    const commands = stream(seededRandom(13), 6_000)
    const zombie = await start({ ONCELEDGER_BATCH_RECORDS: '50' })
    const sending = send(ledger, commands, 20)
    await waitForApplied(ledger, 300)
    zombie.kill('SIGSTOP')
    const heir = await start()
    await sending
    // The heir has taken everything over, and finished it, before the other wakes with batches of long ago in its hands.
    await waitForApplied(ledger, commands.length)
    zombie.kill('SIGCONT')
    const more = stream(seededRandom(14), 1_000, 'late')
    await send(ledger, more)
    await expectTruth(ledger, [...commands, ...more])
    expect((await heir.readiness()).ok).toBe(true)
  })

  it('[RTE-2] [ADJ-8] cannot write late: the database refuses the batch that one held while it was frozen', async () => {
    const commands = stream(seededRandom(18), 2_000)
    await send(ledger, commands)
    const zombie = await start({
      ONCELEDGER_BATCH_RECORDS: '50',
      ONCELEDGER_CONNECTIONS: '1',
      ONCELEDGER_FAILPOINTS: 'store.before-commit=pause:5000@5',
    })
    const connectionId = await waitFor(idleTransaction, { timeoutMs: 4_000, intervalMs: 250, what: 'a batch between judging and COMMIT' })
    const judged = await metricOf(zombie, 'onceledger_verdicts_total')
    expect(judged).toBeGreaterThan(0)
    zombie.kill('SIGSTOP')
    // As the server does by itself once wait_timeout has passed: without it the frozen process would hold its locks for ever.
    await databaseOf(ledger).withSession((session) => session.run(`KILL ${connectionId}`))
    const heir = await start()
    await expectTruth(ledger, commands)
    zombie.kill('SIGCONT')
    await waitFor(
      async () => (await metricOf(zombie, 'onceledger_batch_seconds_count', { result: 'seek' })) + (await staleBatches(zombie)) > 0,
      {
        timeoutMs: 30_000,
        what: 'the late batch to be refused',
      },
    )
    expect(await metricOf(zombie, 'onceledger_verdicts_total')).toBe(judged)
    await expectTruth(ledger, commands)
    expect((await heir.readiness()).ok).toBe(true)
  })

  it('[ADJ-8] stop gracefully under load: what is in flight is finished, the exit code is 0, and another goes on at once', async () => {
    // Whoever does not leave the group makes the next one wait so long.
    const session = { ONCELEDGER_SESSION_TIMEOUT_MS: '30000' }
    const commands = stream(seededRandom(15), 6_000)
    const first = await start(session)
    const sending = send(ledger, commands, 5)
    await waitForApplied(ledger, 500)
    const startedMs = performance.now()
    expect(await first.stop()).toEqual({ code: 0, signal: null })
    expect(performance.now() - startedMs).toBeLessThan(15_000)
    // Nothing is left in doubt: no transaction stands open, and rows and offsets are of the same messages.
    await expectBooks(databaseOf(ledger), await donePrefix(ledger, commands))
    const leftMs = performance.now()
    const second = await start(session)
    await waitFor(async () => (await metricOf(second, 'onceledger_verdicts_total')) > 0, { timeoutMs: 10_000, what: 'the next to go on' })
    expect(performance.now() - leftMs).toBeLessThan(15_000)
    await sending
    await expectTruth(ledger, commands)
  })

  it('answer for their health, and their metrics count the verdicts', async () => {
    const commands = stream(seededRandom(16), 500)
    const shard = await start()
    await send(ledger, commands)
    await expectTruth(ledger, commands)
    expect(await shard.readiness()).toEqual({ ok: true, reasons: {} })
    expect((await fetch(`${shard.adminUrl}/healthz`)).status).toBe(200)
    expect(await metricOf(shard, 'onceledger_verdicts_total')).toBe(commands.length)
    expect(await metricOf(shard, 'onceledger_verdicts_total', { verdict: 'APPLIED' })).toBe(Number((await loadTally(ledger)).applied))
    expect((await fetch(`${shard.adminUrl}/elsewhere`)).status).toBe(404)
  })

  it('that are misconfigured end with code 2 and a list of everything that is wrong', async () => {
    const shard = await startShardProcess({
      shard: 0,
      env: { ...ledger.env(), ONCELEDGER_CONNECTIONS: '0', ONCELEDGER_KAFKA_BROKERS: 'nowhere', ONCELEDGER_LOG_LEVEL: 'loud' },
      expectStart: false,
    })
    expect((await shard.exited).code).toBe(2)
    const said = shard.lastLines().join('\n')
    for (const name of ['ONCELEDGER_CONNECTIONS', 'ONCELEDGER_KAFKA_BROKERS', 'ONCELEDGER_LOG_LEVEL']) expect(said).toContain(name)
  })

  it('[ADJ-8] redelivered from an offset long past, give every first result again and no effect', async () => {
    const commands = stream(seededRandom(17), 2_000)
    const first = await start()
    await send(ledger, commands)
    await expectTruth(ledger, commands)
    await first.stop()
    const database = databaseOf(ledger)
    const before = await loadProgress(database, ledger.topic)
    // In the middle of the redelivery, after a few commits: the offset has not moved back with them.
    const dying = await startShardProcess({
      shard: 0,
      env: {
        ...ledger.env(),
        ...SESSION,
        ONCELEDGER_START_FROM: 'group-offset',
        ONCELEDGER_GROUP_ID: `${ledger.name}-dying`,
        ONCELEDGER_BATCH_RECORDS: '50',
        ONCELEDGER_FAILPOINTS: 'store.after-commit=exit@3',
      },
      expectStart: false,
    })
    running.push(dying)
    expect(await dying.exited).toEqual({ code: null, signal: 'SIGKILL' })
    expect(await loadProgress(database, ledger.topic)).toEqual(before)
    // Another group has no offsets of its own, so everything is read again from the beginning.
    const again = await start({ ONCELEDGER_START_FROM: 'group-offset', ONCELEDGER_GROUP_ID: `${ledger.name}-again` })
    await waitFor(async () => (await metricOf(again, 'onceledger_verdicts_total')) >= commands.length, {
      timeoutMs: 60_000,
      what: 'all judged again',
    })
    const { conflicts } = booksOf(commands)
    expect(await metricOf(again, 'onceledger_verdicts_total', { verdict: 'CONFLICT' })).toBe(conflicts)
    expect(await metricOf(again, 'onceledger_verdicts_total', { verdict: 'DUPLICATE' })).toBe(commands.length - conflicts)
    expect(await loadProgress(database, ledger.topic)).toEqual(before)
    await expectTruth(ledger, commands)
  })
})

/** The connection of a transaction of this ledger that waits for its client, or null. InnoDB refreshes the table only when nobody has read it for 100 ms. */
async function idleTransaction(): Promise<number | null> {
  const [rows = []] = await databaseOf(ledger).withSession((session) =>
    session.run(`SELECT p.id
      FROM information_schema.innodb_trx AS t
      JOIN performance_schema.processlist AS p ON p.id = t.trx_mysql_thread_id
      WHERE p.db = DATABASE() AND p.command = 'Sleep' AND t.trx_started < NOW() - INTERVAL 1 SECOND`),
  )
  return rows[0] === undefined ? null : Number(rows[0][0])
}

/** Batches whose partition was taken away before their outcome came. */
function staleBatches(shard: ShardProcess): Promise<number> {
  return metricOf(shard, 'onceledger_batch_seconds_count', { result: 'stale' })
}
