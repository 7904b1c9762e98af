import { createMetrics, HealthState, silentLogger } from '@onceledger/runtime'
import { describe, expect, it } from 'vitest'
import type { ShardContext } from '../src/context.ts'
import { createShardMetrics } from '../src/observe.ts'
import { lookOnce } from '../src/watch.ts'

interface World {
  partitions: number
  databaseAnswers: boolean
}

function optionsFor(world: World, health: HealthState): Parameters<typeof lookOnce>[0] {
  const described = {
    topic: 't',
    replicas: 1,
    cleanupPolicy: 'delete',
    retentionMs: -1n,
    retentionBytes: -1n,
    maxMessageBytes: 1n,
    minInsyncReplicas: 1,
  }
  const context = {
    fresh: new Set<number>(),
    foundation: { topic: 't', bucketCount: 8, shardCount: 1 },
    admin: { describeTopic: () => Promise.resolve({ ...described, partitions: world.partitions }) },
    database: {
      withSession: () => (world.databaseAnswers ? Promise.resolve([]) : Promise.reject(new Error('connect ECONNREFUSED'))),
      close: () => Promise.resolve(),
    },
  } as unknown as ShardContext
  const metrics = createShardMetrics(createMetrics({ processMetrics: false }))
  return { context, consumer: { stats: () => [], restart: () => {} }, health, metrics, log: silentLogger }
}

describe('the watch over the outside world', () => {
  it('turns readiness red with each reason, and green again when it has passed', async () => {
    const health = new HealthState()
    const world = { partitions: 8, databaseAnswers: true }
    await lookOnce(optionsFor(world, health))
    expect(health.ready()).toEqual({ ok: true, reasons: {} })
    world.databaseAnswers = false
    world.partitions = 9
    await lookOnce(optionsFor(world, health))
    expect(health.ready()).toMatchObject({
      ok: false,
      reasons: { database: 'connect ECONNREFUSED', topic: expect.stringMatching(/9 partitions/) as string },
    })
    world.databaseAnswers = true
    world.partitions = 8
    await lookOnce(optionsFor(world, health))
    expect(health.ready()).toEqual({ ok: true, reasons: {} })
  })

  it.each([
    ['behind the position', 7n, false, [3]],
    ['at the position', 10n, false, []],
    ['ahead of it, as another process left it', 12n, false, []],
    ['without any', null, false, [3]],
    ['without any yet, in a partition just begun', null, true, []],
  ])('[ADJ-8] starts a partition again where the database stands %s', async (_what, stored, fresh, expected) => {
    const restarted: number[] = []
    const options = optionsFor({ partitions: 8, databaseAnswers: true }, new HealthState())
    const rows = stored === null ? [] : [[3, stored.toString(), ...Array.from({ length: 8 }, () => '0')]]
    const database = { withSession: () => Promise.resolve([rows]), close: () => Promise.resolve() } as unknown as ShardContext['database']
    const stats = {
      partition: 3,
      phase: 'running',
      reason: null,
      queuedRecords: 0,
      queuedBytes: 0,
      position: 10n,
      highWatermark: 10n,
      lag: 0n,
    } as const
    await lookOnce({
      ...options,
      context: { ...options.context, database, fresh: new Set(fresh ? [3] : []) },
      consumer: { stats: () => [stats], restart: (partition) => void restarted.push(partition) },
    })
    expect(restarted).toEqual(expected)
  })
})
