/** Why a shard map or a bucket was refused. */
export type ShardMapErrorCode =
  | 'BUCKET_COUNT_INVALID'
  | 'SHARD_COUNT_INVALID'
  | 'MAP_MALFORMED'
  | 'BUCKET_OWNED_TWICE'
  | 'BUCKET_WITHOUT_OWNER'
  | 'BUCKET_OUT_OF_RANGE'

/** A shard map, a bucket or a routing key that breaks the rules of routing (RTE-1, RTE-2). Never retried: the input must change. */
export class ShardMapError extends Error {
  override readonly name = 'ShardMapError'
  readonly code: ShardMapErrorCode

  constructor(code: ShardMapErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
