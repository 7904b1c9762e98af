import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { bucketOf, bucketOfKey, homeBucketOf, murmur2, ShardMapError } from '../src/index.ts'

interface Vectors {
  readonly partitionCounts: readonly number[]
  readonly vectors: readonly (readonly [key: string, hash: number, partitions: readonly number[]])[]
}

const VECTORS = JSON.parse(readFileSync(new URL('./vectors/murmur2.json', import.meta.url), 'utf8')) as Vectors

describe('buckets', () => {
  it('[RTE-1] murmur2 equals the Java client on every vector', () => {
    expect(VECTORS.vectors.length).toBeGreaterThan(500)
    const wrong = VECTORS.vectors.filter(([key, hash]) => murmur2(Buffer.from(key, 'utf8')) !== hash)
    expect(wrong).toEqual([])
  })

  it('[RTE-1] a bucket equals the partition that the Java producer chooses, for text and for bytes', () => {
    const wrong = VECTORS.vectors.flatMap(([key, , partitions]) =>
      VECTORS.partitionCounts.flatMap((count, at) => {
        const got = [
          bucketOfKey(key, count),
          bucketOfKey(Buffer.from(key, 'utf8'), count),
          bucketOfKey(new TextEncoder().encode(key), count),
        ]
        return got.every((bucket) => bucket === partitions[at]) ? [] : [{ key, count, got }]
      }),
    )
    expect(wrong).toEqual([])
  })

  it('[RTE-1] the business key and the tenant decide together', () => {
    expect(bucketOf('bank', 'account-1', 64)).toBe(bucketOfKey('bank/account-1', 64))
    expect(bucketOf('bank', '账户', 64)).toBe(bucketOfKey(Buffer.from('bank/账户', 'utf8'), 64))
  })

  it('[RTE-2] a tenant-wide identity has a home of its own, by tenant, type and operation, and the homes spread over all buckets', () => {
    expect(homeBucketOf('bank', 'pay', 'payment-1', 64)).toBe(bucketOfKey('bank/pay/payment-1', 64))
    const homes = Array.from({ length: 6_400 }, (_, i) => homeBucketOf('bank', 'pay', `payment-${i}`, 64))
    const filled = [...Map.groupBy(homes, (home) => home).values()].map(({ length }) => length)
    expect([filled.length, Math.min(...filled) > 50, Math.max(...filled) < 200]).toEqual([64, true, true])
  })

  it.each([0, -1, 1.5, Number.NaN, 1 << 21])('refuses %d buckets', (count) => {
    expect(() => bucketOfKey('a', count)).toThrow(ShardMapError)
  })

  it('spreads keys evenly over 64 buckets', () => {
    const counts = new Array<number>(64).fill(0)
    for (let at = 0; at < 64_000; at++) {
      const bucket = bucketOf('bank', `account-${at}`, 64)
      counts[bucket] = (counts[bucket] ?? 0) + 1
    }
    expect(Math.min(...counts)).toBeGreaterThan(850)
    expect(Math.max(...counts)).toBeLessThan(1150)
  })
})
