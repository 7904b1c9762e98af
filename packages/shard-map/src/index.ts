export { bucketOf, bucketOfKey, homeBucketOf } from './bucket.ts'
export { ShardMapError, type ShardMapErrorCode } from './errors.ts'
export { murmur2 } from './murmur2.ts'
export {
  BUCKET_STATES,
  type BucketOwner,
  type BucketState,
  bucketsOfShard,
  evenShardMap,
  ownerOf,
  parseShardMap,
  type ShardMap,
} from './shard-map.ts'
