const SEED = 0x9747b28c
const MULTIPLIER = 0x5bd1e995

/**
 * 32-bit murmur2 exactly as Kafka's Java client computes it (org.apache.kafka.common.utils.Utils.murmur2), so that every
 * producer's default partitioner agrees with the bucket computed here.
 * @param bytes the serialized key.
 * @returns a signed 32-bit integer.
 */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length
  const tailAt = length & ~3
  let hash = (SEED ^ length) | 0
  for (let at = 0; at < tailAt; at += 4) {
    let word = byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8) | (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24)
    word = Math.imul(word, MULTIPLIER)
    word ^= word >>> 24
    hash = Math.imul(hash, MULTIPLIER) ^ Math.imul(word, MULTIPLIER)
  }
  const tailLength = length - tailAt
  if (tailLength === 3) hash ^= byteAt(bytes, tailAt + 2) << 16
  if (tailLength >= 2) hash ^= byteAt(bytes, tailAt + 1) << 8
  if (tailLength >= 1) hash = Math.imul(hash ^ byteAt(bytes, tailAt), MULTIPLIER)
  hash ^= hash >>> 13
  hash = Math.imul(hash, MULTIPLIER)
  return hash ^ (hash >>> 15)
}

/** The callers stay inside the array, so the fallback is never taken: it only satisfies the checked index access. */
function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}
