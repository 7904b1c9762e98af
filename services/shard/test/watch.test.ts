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
    foundation: { topic: 't', bucketCount: 8, shardCount: 1 },
    admin: { describeTopic: () => Promise.resolve({ ...described, partitions: world.partitions }) },
    database: {
      withSession: () => (world.databaseAnswers ? Promise.resolve([]) : Promise.reject(new Error('connect ECONNREFUSED'))),
      close: () => Promise.resolve(),
    },
  } as unknown as ShardContext
  const metrics = createShardMetrics(createMetrics({ processMetrics: false }))
  return { context, consumer: { stats: () => [] }, health, metrics, log: silentLogger }
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
})
