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

describe('a server killed under load', () => {
  it('[ADJ-3] [ADJ-4] [LAB-2] MySQL comes back with everything that was acknowledged, and nothing is parked for its absence', async () => {
    const commands = stream(seededRandom(21), 8_000)
    const sending = send(ledger, commands, 5)
    for (let kill = 1; kill <= 2; kill++) {
      await waitForApplied(ledger, kill * 1_500)
      await stack.kill('mysql-0')
      await waitFor(async () => !(await shard.readiness()).ok, { timeoutMs: 30_000, what: 'readiness to turn red' })
      const { reasons } = await shard.readiness()
      expect(Object.values(reasons).join()).toMatch(/ECONNREFUSED|PROTOCOL_CONNECTION_LOST|paused/)
      await stack.restart('mysql-0')
    }
    await sending
    await expectTruth(ledger, commands)
    await waitFor(async () => (await shard.readiness()).ok, { timeoutMs: 30_000, what: 'readiness to turn green' })
  })

  it('[ADJ-8] [LAB-2] Kafka comes back, and its messages are neither lost nor judged twice', async () => {
    const commands = stream(seededRandom(22), 6_000)
    const sending = send(ledger, commands, 5)
    await waitForApplied(ledger, 1_000)
    await stack.kill('kafka')
    await stack.restart('kafka')
    await sending
    await expectTruth(ledger, commands)
    expect((await shard.readiness()).ok).toBe(true)
  })
})
