import { describe, expect, it } from 'vitest'
import { bucketsOfShard, evenShardMap, ownerOf, parseShardMap } from '../src/index.ts'

const ACTIVE = { shard: 0, epoch: '1', state: 'ACTIVE' }

describe('shard map', () => {
  it.each([
    [64, 1],
    [64, 3],
    [64, 64],
    [1024, 10],
  ])('[RTE-1] %d buckets over %d shards: every bucket has one owner, sizes differ by one', (buckets, shards) => {
    const map = evenShardMap(buckets, shards)
    const sizes = Array.from({ length: shards }, (_, shard) => bucketsOfShard(map, shard).length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(buckets)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
  })

  it('[RTE-2] a frozen or gone bucket is consumed by nobody', () => {
    const map = parseShardMap({
      bucketCount: 3,
      buckets: [
        { bucket: 2, ...ACTIVE, epoch: 9 },
        { bucket: 0, ...ACTIVE, state: 'FROZEN' },
        { bucket: 1, ...ACTIVE, state: 'GONE' },
      ],
    })
    expect(bucketsOfShard(map, 0)).toEqual([2])
    expect(ownerOf(map, 2)).toEqual({ shard: 0, epoch: 9n, state: 'ACTIVE' })
  })

  it.each([
    [
      'BUCKET_OWNED_TWICE',
      {
        bucketCount: 1,
        buckets: [
          { bucket: 0, ...ACTIVE },
          { bucket: 0, ...ACTIVE, shard: 1 },
        ],
      },
    ],
    ['BUCKET_WITHOUT_OWNER', { bucketCount: 2, buckets: [{ bucket: 0, ...ACTIVE }] }],
    ['BUCKET_OUT_OF_RANGE', { bucketCount: 1, buckets: [{ bucket: 1, ...ACTIVE }] }],
    ['BUCKET_COUNT_INVALID', { bucketCount: 1 << 21, buckets: [] }],
    ['MAP_MALFORMED', { bucketCount: 1, buckets: [{ bucket: 0, ...ACTIVE, state: 'SLEEPING' }] }],
    ['MAP_MALFORMED', { bucketCount: 1, buckets: [{ bucket: 0, ...ACTIVE, epoch: -1 }] }],
    ['MAP_MALFORMED', null],
  ])('[RTE-2] a map is refused with %s', (code, input) => {
    expect(() => parseShardMap(input)).toThrow(expect.objectContaining({ code }))
  })

  it('an epoch beyond 2^53 stays exact', () => {
    const map = parseShardMap({ bucketCount: 1, buckets: [{ bucket: 0, ...ACTIVE, epoch: '9007199254740993' }] })
    expect(ownerOf(map, 0).epoch).toBe(9007199254740993n)
  })

  it.each([0, 65, 1.5])('[RTE-1] refuses %d shards for 64 buckets', (shards) => {
    expect(() => evenShardMap(64, shards)).toThrow(expect.objectContaining({ code: 'SHARD_COUNT_INVALID' }))
  })
})
