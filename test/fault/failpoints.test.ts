import type { CommandToSend } from '@onceledger/core'
import { loadProgress } from '@onceledger/ledger-store'
import { endpointsFromEnv, seededRandom, startShardProcess, type TestLedger } from '@onceledger/testkit'
import kafkajs from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createScenarioLedger, databaseOf, donePrefix, expectBooks, expectTruth, send, stream } from './support/scenario.ts'

const random = seededRandom(7)
/** The shortest that the broker allows: the next process waits for the dead one's partitions as long as that. */
const SESSION = { ONCELEDGER_SESSION_TIMEOUT_MS: '6000' }
let ledger: TestLedger
beforeEach(async () => {
  ledger = await createScenarioLedger(endpointsFromEnv(), 'failpoint')
})
afterEach(() => ledger.close({ drop: true }))

async function dieAt(failpoint: string, commands: readonly CommandToSend[]): Promise<void> {
  await send(ledger, commands)
  const shard = await startShardProcess({
    shard: 0,
    env: {
      ...ledger.env(),
      ...SESSION,
      ONCELEDGER_FAILPOINTS: failpoint,
      ONCELEDGER_BATCH_RECORDS: '100',
      ONCELEDGER_CONNECTIONS: '1',
    },
    expectStart: false,
  })
  expect(await shard.exited).toEqual({ code: null, signal: 'SIGKILL' })
}

async function offsetsInDatabase(): Promise<Map<number, bigint>> {
  return new Map((await loadProgress(databaseOf(ledger), ledger.topic)).map(({ partition, nextOffset }) => [partition, nextOffset]))
}

/** What Kafka remembers for the shard's group; partitions that it knows nothing of are left out. */
async function offsetsInKafka(): Promise<Map<number, bigint>> {
  const kafka = new kafkajs.Kafka({ brokers: [...ledger.kafkaBrokers], clientId: ledger.name, logLevel: kafkajs.logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  try {
    const [answer] = await admin.fetchOffsets({ groupId: `onceledger.${ledger.topic}.shard-0`, topics: [ledger.topic] })
    return new Map(
      (answer?.partitions ?? []).flatMap(({ partition, offset }) => (BigInt(offset) < 0n ? [] : [[partition, BigInt(offset)]])),
    )
  } finally {
    await admin.disconnect()
  }
}

async function goOn(commands: readonly CommandToSend[]): Promise<void> {
  const again = await startShardProcess({ shard: 0, env: { ...ledger.env(), ...SESSION } })
  try {
    await expectTruth(ledger, commands)
  } finally {
    again.kill('SIGKILL')
    await again.exited
  }
}

describe('a process that dies at a named point', () => {
  it.each(['store.inside-batch=exit@1', 'store.before-commit=exit@1'])(
    '[ADJ-1] [ADJ-8] [LAB-2] %s leaves nothing of its first batch',
    async (failpoint) => {
      const commands = stream(random, 1_000)
      await dieAt(failpoint, commands)
      expect(await offsetsInDatabase()).toEqual(new Map())
      await expectBooks(databaseOf(ledger), [])
      await goOn(commands)
    },
  )

  it.each([
    ['store.inside-batch=exit@4', 3],
    ['store.before-commit=exit@5', 4],
    ['store.after-commit=exit@1', 1],
    ['store.after-commit=exit@6', 6],
  ])('[ADJ-1] [ADJ-8] [LAB-2] %s leaves %i whole batches, each with its offset', async (failpoint, batches) => {
    const commands = stream(random, 2_000)
    await dieAt(failpoint, commands)
    const done = await donePrefix(ledger, commands)
    expect(done.length).toBeGreaterThan(0)
    expect(done.length).toBeLessThanOrEqual(batches * 100)
    // Rows and offsets of the same messages, and of no others.
    await expectBooks(databaseOf(ledger), done)
    await goOn(commands)
  })

  it('[ADJ-8] [LAB-2] store.after-commit=exit@1 strikes when the database has the offset and Kafka does not', async () => {
    const commands = stream(random, 500)
    await dieAt('store.after-commit=exit@1', commands)
    expect((await offsetsInDatabase()).size).toBe(1)
    expect(await offsetsInKafka()).toEqual(new Map())
    await goOn(commands)
    expect(await offsetsInDatabase()).toEqual(
      new Map(
        [...(await ledger.admin.topicOffsets(ledger.topic))].flatMap(([partition, { high }]) => (high > 0n ? [[partition, high]] : [])),
      ),
    )
  })

  it('is not to be had in production, nor at a point that does not exist', async () => {
    const refused = async (env: Record<string, string>): Promise<[number | null, string]> => {
      const shard = await startShardProcess({ shard: 0, env: { ...ledger.env(), ...env }, expectStart: false })
      const { code } = await shard.exited
      return [code, shard.lastLines().join('\n')]
    }
    const production = await refused({ NODE_ENV: 'production', ONCELEDGER_FAILPOINTS: 'store.before-commit=exit' })
    expect(production).toEqual([2, expect.stringContaining('NODE_ENV=production refuses') as string])
    const unknown = await refused({ ONCELEDGER_FAILPOINTS: 'nowhere=exit' })
    expect(unknown).toEqual([2, expect.stringContaining('there is no failpoint "nowhere"') as string])
  })
})
