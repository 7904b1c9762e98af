import type { CommandToSend } from '@onceledger/core'
import { loadFigures, loadProgress } from '@onceledger/ledger-store'
import { endpointsFromEnv, seededRandom, startShardProcess, type TestLedger } from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createScenarioLedger, expectTruth, send, stream } from './support/scenario.ts'

const random = seededRandom(7)
let ledger: TestLedger
beforeEach(async () => {
  ledger = await createScenarioLedger(endpointsFromEnv(), 'failpoint')
})
afterEach(() => ledger.close({ drop: true }))

/** What stands at the moment of death: rows of the ledger and the sum of the offsets, which must always agree. */
async function whatStands(): Promise<{ operations: number; inboxRows: number; offsets: number; applied: number }> {
  const [database] = ledger.databases
  if (database === undefined) throw new Error('no database')
  const { operations, inboxRows } = await loadFigures(database)
  const progress = await loadProgress(database, ledger.topic)
  return {
    operations,
    inboxRows,
    offsets: Number(progress.reduce((sum, { nextOffset }) => sum + nextOffset, 0n)),
    applied: Number(progress.reduce((sum, { tally }) => sum + tally.applied, 0n)),
  }
}

async function dieAt(failpoint: string, commands: readonly CommandToSend[]): Promise<void> {
  await send(ledger, commands)
  const shard = await startShardProcess({
    shard: 0,
    env: { ...ledger.env(), ONCELEDGER_FAILPOINTS: failpoint, ONCELEDGER_BATCH_RECORDS: '100', ONCELEDGER_CONNECTIONS: '1' },
    expectStart: false,
  })
  expect(await shard.exited).toEqual({ code: null, signal: 'SIGKILL' })
}

describe('a process that dies at a named point', () => {
  it.each(['store.inside-batch=exit@1', 'store.before-commit=exit@1'])(
    '[ADJ-1] [ADJ-8] [LAB-2] %s leaves nothing of its first batch',
    async (failpoint) => {
      const commands = stream(random, 1_000)
      await dieAt(failpoint, commands)
      expect(await whatStands()).toEqual({ operations: 0, inboxRows: 0, offsets: 0, applied: 0 })
      const again = await startShardProcess({ shard: 0, env: ledger.env() })
      await expectTruth(ledger, commands)
      await again.stop()
    },
  )

  it.each(['store.inside-batch=exit@4', 'store.before-commit=exit@5', 'store.after-commit=exit@1', 'store.after-commit=exit@6'])(
    '[ADJ-1] [ADJ-8] [LAB-2] %s leaves whole batches, each with its offset',
    async (failpoint) => {
      const commands = stream(random, 2_000)
      await dieAt(failpoint, commands)
      const stands = await whatStands()
      expect(stands.offsets).toBeGreaterThan(0)
      expect(stands.offsets).toBeLessThan(commands.length)
      expect(stands.applied).toBe(stands.operations)
      const again = await startShardProcess({ shard: 0, env: ledger.env() })
      await expectTruth(ledger, commands)
      await again.stop()
    },
  )

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
