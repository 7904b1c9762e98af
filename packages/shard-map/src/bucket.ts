import { bindingKey, routingKey } from '@onceledger/core'
import { ShardMapError } from './errors.ts'
import { murmur2 } from './murmur2.ts'

/** The largest number of partitions one topic is laid out for. */
const BUCKET_COUNT_MAX = 1 << 20

/**
 * The bucket (= Kafka partition) of a business key: murmur2 of the UTF-8 bytes of `tenantId/businessKey`, sign bit cleared, modulo
 * bucketCount (RTE-1). Any producer that sets core's `routingKey(...)` as the message key and uses the default partitioner agrees.
 * @throws ShardMapError BUCKET_COUNT_INVALID
 */
export function bucketOf(tenantId: string, businessKey: string, bucketCount: number): number {
  return bucketOfKey(routingKey(tenantId, businessKey), bucketCount)
}

/**
 * The home bucket of a tenant-wide identity (RTE-2): the same hash over the UTF-8 bytes of `tenantId/type/operationId`, whatever business key the
 * operation is used for.
 * @throws ShardMapError BUCKET_COUNT_INVALID
 */
export function homeBucketOf(tenantId: string, type: string, operationId: string, bucketCount: number): number {
  return bucketOfKey(bindingKey(tenantId, type, operationId), bucketCount)
}

/**
 * The bucket of a ready message key. Text is taken as UTF-8; bytes are taken as they are, which is the fast path for a
 * consumer that checks the key a message came with.
 * @throws ShardMapError BUCKET_COUNT_INVALID
 */
export function bucketOfKey(key: Uint8Array | string, bucketCount: number): number {
  requireBucketCount(bucketCount)
  const bytes = typeof key === 'string' ? Buffer.from(key, 'utf8') : key
  return (murmur2(bytes) & 0x7fffffff) % bucketCount
}

/** @throws ShardMapError BUCKET_COUNT_INVALID unless the count is an integer from 1 to 1,048,576. */
export function requireBucketCount(bucketCount: number): void {
  if (!Number.isInteger(bucketCount) || bucketCount < 1 || bucketCount > BUCKET_COUNT_MAX) {
    throw new ShardMapError('BUCKET_COUNT_INVALID', `bucket count must be an integer from 1 to ${BUCKET_COUNT_MAX}, got ${bucketCount}`)
  }
}
