import { loadProgress } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import { endpointsFromEnv, seededRandom, type ShardProcess, startShardProcess, type TestLedger } from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createScenarioLedger, expectTruth, send, stream, waitForApplied } from './support/scenario.ts'

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

  it('[ADJ-8] share its partitions while they come and go', async () => {
    const commands = stream(seededRandom(12), 8_000)
    const first = await start({ ONCELEDGER_BATCH_RECORDS: '100' })
    const sending = send(ledger, commands, 20)
    for (let round = 0; round < 3; round++) {
      const second = await start({ ONCELEDGER_BATCH_RECORDS: '100' })
      expect(await second.stop()).toEqual({ code: 0, signal: null })
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

  it('stop gracefully under load: what is in flight is finished, the exit code is 0, and another goes on at once', async () => {
    const commands = stream(seededRandom(15), 6_000)
    const first = await start()
    const sending = send(ledger, commands, 5)
    await waitForApplied(ledger, 500)
    const startedMs = performance.now()
    expect(await first.stop()).toEqual({ code: 0, signal: null })
    expect(performance.now() - startedMs).toBeLessThan(15_000)
    await start()
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
    const text = await (await fetch(`${shard.adminUrl}/metrics`)).text()
    const counted = [...text.matchAll(/^onceledger_verdicts_total\{verdict="(\w+)"\} (\d+)$/gm)].reduce(
      (sum, [, , count]) => sum + Number(count),
      0,
    )
    expect(counted).toBe(commands.length)
  })

  it('[ADJ-8] redelivered from an offset long past, give every first result again and no effect', async () => {
    const commands = stream(seededRandom(17), 2_000)
    const first = await start()
    await send(ledger, commands)
    await expectTruth(ledger, commands)
    await first.stop()
    const [database] = ledger.databases
    if (database === undefined) throw new Error('no database')
    const before = await loadProgress(database, ledger.topic)
    // Another group has no offsets of its own, so everything is read again from the beginning.
    const again = await start({ ONCELEDGER_START_FROM: 'group-offset', ONCELEDGER_GROUP_ID: `${ledger.name}-again` })
    await waitFor(async () => duplicatesOf(await (await fetch(`${again.adminUrl}/metrics`)).text()) >= commands.length, {
      timeoutMs: 60_000,
      what: 'all judged again',
    })
    expect(await loadProgress(database, ledger.topic)).toEqual(before)
    await expectTruth(ledger, commands)
  })
})

function duplicatesOf(metrics: string): number {
  return Number(/^onceledger_verdicts_total\{verdict="DUPLICATE"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
}
