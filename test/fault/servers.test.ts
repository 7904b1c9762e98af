import { type Stack, startStack } from '@onceledger/local-stack'
import { waitFor } from '@onceledger/runtime'
import { seededRandom, type ShardProcess, startShardProcess, type TestLedger } from '@onceledger/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createScenarioLedger, expectTruth, send, stream, waitForApplied } from './support/scenario.ts'

let stack: Stack
let ledger: TestLedger
let shard: ShardProcess

/** Servers of their own: these tests kill them. */
beforeAll(async () => {
  const environment = { ...process.env, ONCELEDGER_MYSQL_URLS: '', ONCELEDGER_KAFKA_BROKERS: '', ONCELEDGER_S3_ENDPOINT: '' }
  stack = await startStack({ name: 'fault', attached: true, services: ['mysql-0', 'kafka'], onProgress: () => {}, environment })
})
afterAll(() => stack.stop({ wipe: true }))

beforeEach(async () => {
  ledger = await createScenarioLedger({ mysqlUrls: stack.mysqlUrls.slice(0, 1), kafkaBrokers: stack.kafkaBrokers }, 'server')
  shard = await startShardProcess({ shard: 0, env: { ...ledger.env(), ONCELEDGER_BATCH_RECORDS: '100' } })
})
afterEach(async () => {
  shard.kill('SIGKILL')
  await shard.exited
  await ledger.close({ drop: true })
})

/** Readiness turns red, over HTTP, with a reason of the named check or partition; the process itself stays alive. */
async function expectRed(reason: RegExp): Promise<void> {
  await waitFor(async () => reason.test(JSON.stringify((await shard.readiness()).reasons)), {
    timeoutMs: 60_000,
    what: `readiness red: ${reason}`,
  })
  expect((await fetch(`${shard.adminUrl}/readyz`)).status).toBe(503)
  expect((await fetch(`${shard.adminUrl}/healthz`)).status).toBe(200)
}

/** Readiness once it is green again, or what stands against it after a minute. */
async function settledReadiness(): Promise<Awaited<ReturnType<ShardProcess['readiness']>>> {
  await waitFor(async () => (await shard.readiness()).ok, { timeoutMs: 60_000, what: 'readiness to turn green' })
  return shard.readiness()
}

const READY = { ok: true, reasons: {} }

describe('a server killed under load', () => {
  it('[ADJ-3] [ADJ-4] [LAB-2] MySQL comes back with everything that was acknowledged, and nothing is parked for its absence', async () => {
    const commands = stream(seededRandom(21), 8_000)
    const sending = send(ledger, commands, 5)
    for (const kill of [1, 2]) {
      await waitForApplied(ledger, kill * 1_500)
      await stack.kill('mysql-0')
      await expectRed(
        /"partition-\d+":"paused: (start position unknown: .*)?(ECONNREFUSED|PROTOCOL_CONNECTION_LOST|ECONNRESET|CONNECTION_CLOSED)/,
      )
      await stack.restart('mysql-0')
    }
    await sending
    await expectTruth(ledger, commands)
    expect(await settledReadiness()).toEqual(READY)
  })

  it('MySQL is missed by an idle process too, which says so and is ready again when it is back', async () => {
    const commands = stream(seededRandom(23), 500)
    await send(ledger, commands)
    await expectTruth(ledger, commands)
    expect(await settledReadiness()).toEqual(READY)
    await stack.kill('mysql-0')
    await expectRed(/"database":".*ECONNREFUSED/)
    await stack.restart('mysql-0')
    expect(await settledReadiness()).toEqual(READY)
    await expectTruth(ledger, commands)
  })

  it('[ADJ-8] [LAB-2] Kafka comes back, and its messages are neither lost nor judged twice', async () => {
    const commands = stream(seededRandom(22), 6_000)
    const sending = send(ledger, commands, 5)
    await waitForApplied(ledger, 1_000)
    await stack.kill('kafka')
    await stack.restart('kafka')
    await sending
    await expectTruth(ledger, commands)
    expect(await settledReadiness()).toEqual(READY)
  })

  it('[ADJ-8] Kafka may be away for longer than its client tries: the process says so, and goes on by itself afterwards', async () => {
    const commands = stream(seededRandom(24), 4_000)
    const sending = send(ledger, commands, 5)
    await waitForApplied(ledger, 500)
    await stack.kill('kafka')
    await expectRed(/"topic":/)
    await stack.restart('kafka')
    await sending
    await expectTruth(ledger, commands)
    expect(await settledReadiness()).toEqual(READY)
  })
})
