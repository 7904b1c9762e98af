import { z } from 'zod'
import { requireBucketCount } from './bucket.ts'
import { ShardMapError } from './errors.ts'

/**
 * What the owner may do with a bucket: ACTIVE judges and writes; FROZEN answers nothing until its move is decided; GONE is left
 * behind on the source of a finished move. Only an ACTIVE bucket is consumed.
 */
export const BUCKET_STATES = ['ACTIVE', 'FROZEN', 'GONE'] as const
export type BucketState = (typeof BUCKET_STATES)[number]

/** Who owns a bucket. The epoch grows by one with every change of owner or state; a lower one is a stale view. */
export interface BucketOwner {
  readonly shard: number
  readonly epoch: bigint
  readonly state: BucketState
}

/** Every bucket has exactly one owner: `owners[bucket]`, for all buckets from 0 to bucketCount - 1. */
export interface ShardMap {
  readonly bucketCount: number
  readonly owners: readonly BucketOwner[]
}

const ENTRY = z.strictObject({
  bucket: z.int().nonnegative(),
  shard: z.int().nonnegative(),
  epoch: z.union([z.bigint(), z.int().nonnegative(), z.string().regex(/^\d{1,19}$/)]).transform((epoch) => BigInt(epoch)),
  state: z.enum(BUCKET_STATES),
})
const DOCUMENT = z.strictObject({ bucketCount: z.int().positive(), buckets: z.array(ENTRY) })

/**
 * Reads `{ bucketCount, buckets: [{ bucket, shard, epoch, state }] }` as the control schema or a configuration file gives it.
 * @throws ShardMapError MAP_MALFORMED, BUCKET_COUNT_INVALID, BUCKET_OUT_OF_RANGE, BUCKET_OWNED_TWICE, BUCKET_WITHOUT_OWNER
 */
export function parseShardMap(input: unknown): ShardMap {
  const parsed = DOCUMENT.safeParse(input)
  if (!parsed.success) throw new ShardMapError('MAP_MALFORMED', z.prettifyError(parsed.error))
  const { bucketCount, buckets } = parsed.data
  requireBucketCount(bucketCount)
  const owners = new Array<BucketOwner | undefined>(bucketCount).fill(undefined)
  for (const { bucket, ...owner } of buckets) {
    if (bucket >= bucketCount) throw new ShardMapError('BUCKET_OUT_OF_RANGE', `bucket ${bucket} of a map of ${bucketCount} buckets`)
    const first = owners[bucket]
    if (first !== undefined) {
      throw new ShardMapError('BUCKET_OWNED_TWICE', `bucket ${bucket} is owned by shard ${first.shard} and by shard ${owner.shard}`)
    }
    owners[bucket] = owner
  }
  return { bucketCount, owners: owners.map(requireOwner) }
}

function requireOwner(owner: BucketOwner | undefined, bucket: number): BucketOwner {
  if (owner === undefined) throw new ShardMapError('BUCKET_WITHOUT_OWNER', `bucket ${bucket} has no owner`)
  return owner
}

/** The owner of a bucket. @throws ShardMapError BUCKET_OUT_OF_RANGE */
export function ownerOf(map: ShardMap, bucket: number): BucketOwner {
  const owner = map.owners[bucket]
  if (owner === undefined) throw new ShardMapError('BUCKET_OUT_OF_RANGE', `bucket ${bucket} of a map of ${map.bucketCount} buckets`)
  return owner
}

/** The buckets that a shard consumes, ascending: owned by it and ACTIVE. FROZEN and GONE ones are left out. */
export function bucketsOfShard(map: ShardMap, shard: number): number[] {
  return map.owners.flatMap((owner, bucket) => (owner.shard === shard && owner.state === 'ACTIVE' ? [bucket] : []))
}

/**
 * The map of a new system: buckets in contiguous ranges, sizes differing by one at most, epoch 1, all ACTIVE. Shards are numbered from 0.
 * @throws ShardMapError BUCKET_COUNT_INVALID, SHARD_COUNT_INVALID
 */
export function evenShardMap(bucketCount: number, shardCount: number): ShardMap {
  requireBucketCount(bucketCount)
  if (!Number.isInteger(shardCount) || shardCount < 1 || shardCount > bucketCount) {
    throw new ShardMapError('SHARD_COUNT_INVALID', `${shardCount} shards for ${bucketCount} buckets`)
  }
  const owners = Array.from({ length: bucketCount }, (_, bucket): BucketOwner => {
    return { shard: Math.floor((bucket * shardCount) / bucketCount), epoch: 1n, state: 'ACTIVE' }
  })
  return { bucketCount, owners }
}
