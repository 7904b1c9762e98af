import { bindingKey, type CommandToSend } from '@onceledger/core'
import { loadFigures } from '@onceledger/ledger-store'
import { bucketOf, bucketOfKey, evenShardMap, ownerOf } from '@onceledger/shard-map'
import {
  createTestLedger,
  endpointsFromEnv,
  seededRandom,
  startShardProcess,
  type TestLedger,
  uuidv7,
  waitForLagZero,
} from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { send, TENANT } from './support/scenario.ts'

const BUCKETS = 8
const SHARDS = 2
const PAYMENTS = 120
const MAP = evenShardMap(BUCKETS, SHARDS)
const random = seededRandom(31)
let ledger: TestLedger
beforeEach(async () => {
  ledger = await createTestLedger({ endpoints: endpointsFromEnv(), shards: SHARDS, buckets: BUCKETS, name: 'binding' })
})
afterEach(() => ledger.close({ drop: true }))

const shardOf = (key: string): number => ownerOf(MAP, bucketOf(TENANT, key, BUCKETS)).shard
const homeOf = (identity: string): number => ownerOf(MAP, bucketOfKey(bindingKey(TENANT, 'pay', identity), BUCKETS)).shard

function command(type: string, businessKey: string, operationId: string, data: Record<string, string>): CommandToSend {
  const eventId = uuidv7(Date.now(), random)
  return { type, tenantId: TENANT, businessKey, eventId, operationId, source: '/test', data: { currency: 'EUR', ...data } }
}

/** Every payment number is used by an account of each shard, each of them twice: only one account can have it. */
function payments(): CommandToSend[] {
  const keys = [0, 1].map((shard) =>
    Array.from({ length: 50 }, (_, i) => `account-${i}`)
      .filter((key) => shardOf(key) === shard)
      .slice(0, 4),
  )
  const funding = keys.flat().map((key) => command('deposit.v1', key, 'fund', { amount: '1000000' }))
  const uses = Array.from({ length: PAYMENTS }, (_, i) => i).flatMap((i) => {
    const [one = '', other = ''] = keys.map((of) => of[i % of.length] ?? '')
    const both = [one, other].map((key) => command('pay.v1', key, `payment-${i}`, { amount: '10' }))
    return [...(random() < 0.5 ? both : both.toReversed()), ...both.map((each) => ({ ...each, eventId: uuidv7(Date.now(), random) }))]
  })
  return [...funding, ...uses]
}

async function count(sql: string): Promise<number> {
  let total = 0
  for (const database of ledger.databases) {
    const [rows = []] = await database.withSession((session) => session.run(sql))
    total += Number(rows[0]?.[0])
  }
  return total
}

describe('a tenant-wide identity', () => {
  it.each(['binding.before-claim=exit@2', 'binding.after-claim=exit@2', 'store.before-commit=exit@4', 'store.after-commit=exit@4'])(
    '[RTE-2] [LAB-2] has one effect in two shards, one of whose processes is killed at %s',
    async (failpoint) => {
      expect(new Set(Array.from({ length: PAYMENTS }, (_, i) => homeOf(`payment-${i}`))).size).toBe(SHARDS)
      const sent = payments()
      await send(ledger, sent)
      const env = { ...ledger.env(), ONCELEDGER_SESSION_TIMEOUT_MS: '6000', ONCELEDGER_BATCH_RECORDS: '40', ONCELEDGER_CONNECTIONS: '2' }
      const other = await startShardProcess({ shard: 1, env })
      const killed = await startShardProcess({ shard: 0, env: { ...env, ONCELEDGER_FAILPOINTS: failpoint }, expectStart: false })
      expect(await killed.exited).toEqual({ code: null, signal: 'SIGKILL' })
      const next = await startShardProcess({ shard: 0, env })
      try {
        await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, 60_000)
        expect(await count('SELECT COUNT(*) FROM operation WHERE amount < 0')).toBe(PAYMENTS)
        expect(await count('SELECT COUNT(DISTINCT operation_id) FROM operation WHERE amount < 0')).toBeLessThanOrEqual(PAYMENTS)
        expect(await count('SELECT COUNT(*) FROM binding')).toBe(PAYMENTS)
        expect(await count(`SELECT COUNT(*) FROM conflict_audit WHERE kind = 'CONFLICT'`)).toBe(PAYMENTS * 2)
        expect(await count('SELECT SUM(duplicate_count) FROM applied_offset')).toBe(PAYMENTS)
        for (const database of ledger.databases) expect((await loadFigures(database)).parked).toBe(0)
      } finally {
        await Promise.all([other.stop(), next.stop()])
      }
    },
  )
})
