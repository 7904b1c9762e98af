import type { Command } from '@onceledger/core'
import { evenShardMap, homeBucketOf, ownerOf } from '@onceledger/shard-map'
import { describe, expect, it } from 'vitest'
import { type BindingDesk, type BindingDeskOptions, openBindingDesk } from '../src/binding-desk.ts'
import type { Row, ShardDatabase } from '../src/session.ts'
import { command, fakeNames, NOW_US, serverError } from './builders.ts'

const MAP = evenShardMap(8, 2)
const REFUSED = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })

/** Payments whose identities are at home in the shard. */
function payments(shard: number, length: number): Command[] {
  const ids = Array.from({ length: 6 * length + 20 }, (_, i) => `payment-${i}`)
  const own = ids.filter((id) => ownerOf(MAP, homeBucketOf('bank', 'pay', id, 8)).shard === shard).slice(0, length)
  return own.map((operationId, i) => command({ type: 'pay', operationId, offset: BigInt(i), data: { amount: '1', currency: 'EUR' } }))
}

/** A home shard whose buckets are all active, and where nothing is claimed. */
function homeShard(packets: string[]): ShardDatabase {
  const run = async (sql: string): Promise<Row[][]> => {
    packets.push(sql)
    return sql.startsWith('START TRANSACTION') ? [[], MAP.owners.map((_owner, bucket) => [bucket, 'ACTIVE', 1]), []] : []
  }
  return { withSession: (work) => work({ run }), close: async () => undefined }
}

function deskOf(options: Partial<BindingDeskOptions>): Promise<BindingDesk> {
  return openBindingDesk({
    shard: 0,
    names: fakeNames(),
    loadMap: async () => MAP,
    databaseOf: async () => homeShard([]),
    nowUs: () => NOW_US,
    failpoints: { hit: () => undefined },
    ...options,
  })
}

describe('the desk of tenant-wide identities', () => {
  it('[RTE-2] sends none to another shard that is at home here, or that no contract makes tenant-wide', async () => {
    const packets: string[] = []
    const desk = await deskOf({ databaseOf: async () => homeShard(packets) })
    const [local, deposit] = [payments(0, 3), command()]
    const plan = desk.plan([...local, deposit])
    expect((await plan.claimRemote()).size).toBe(0)
    expect(packets).toEqual([])
    expect(local.every((each) => plan.localBuckets.includes(plan.localBucketOf(each) ?? -1))).toBe(true)
    expect(plan.localBucketOf(deposit)).toBeNull()
  })

  it('claims at most 1,000 in one transaction, each identity once, in the order of their keys', async () => {
    const packets: string[] = []
    const desk = await deskOf({ databaseOf: async () => homeShard(packets) })
    const remote = payments(1, 1_200)
    const claimed = await desk.plan([...remote, ...remote.slice(0, 300)]).claimRemote()
    expect(claimed.size).toBe(1_200)
    const inserts = packets.filter((sql) => sql.startsWith('INSERT'))
    expect(inserts.every((sql) => sql.endsWith(';COMMIT'))).toBe(true)
    const idsOf = (sql: string): string[] => [...sql.matchAll(/\(\d+,\d+,(\S+?),/g)].map(([, id]) => id ?? '')
    expect(inserts.map((sql) => idsOf(sql).length)).toEqual([1_000, 200])
    expect(inserts.map((sql) => idsOf(sql).join())).toEqual(inserts.map((sql) => idsOf(sql).toSorted().join()))
  })

  it('[ADJ-4] asks a shard that is away with one batch at a time, and tells the others at once', async () => {
    let answer: ((database: ShardDatabase) => void) | undefined
    const asked: string[] = []
    const desk = await deskOf({
      databaseOf() {
        asked.push('asked')
        if (asked.length <= 2) return Promise.reject(REFUSED)
        return new Promise((resolve) => {
          answer = resolve
        })
      },
    })
    const plan = desk.plan(payments(1, 2))
    // A single fault may be a lost connection: it is the adjudicator's to try again.
    await expect(plan.claimRemote()).rejects.toBe(REFUSED)
    await expect(plan.claimRemote()).rejects.toMatchObject({ name: 'StoreUnavailable', code: 'HOME_SHARD_AWAY', cause: REFUSED })
    const asking = plan.claimRemote()
    await expect(plan.claimRemote()).rejects.toMatchObject({ name: 'StoreUnavailable', code: 'HOME_SHARD_AWAY' })
    expect(asked).toHaveLength(3)
    answer?.(homeShard([]))
    expect((await asking).size).toBe(2)
    const again = [plan.claimRemote(), plan.claimRemote()]
    expect(asked).toHaveLength(5)
    answer?.(homeShard([]))
    await Promise.race(again)
  })

  it('[ADJ-4] a deadlock at home says nothing about the shard: the batch tries again', async () => {
    const desk = await deskOf({ databaseOf: () => Promise.reject(serverError(1213)) })
    const plan = desk.plan(payments(1, 1))
    for (let i = 0; i < 3; i++) await expect(plan.claimRemote()).rejects.toMatchObject({ errno: 1213 })
  })
})
