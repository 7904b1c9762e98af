import { recordDigest, type SourceRecord } from '@onceledger/core'

/**
 * Where a partition starts. `applied` is the database's word (ADJ-8): the next offset and the digest of the record before it.
 * `beginning` is the first record still in the log. `group-offset` is Kafka's own memory, used only to prove redelivery.
 */
export type StartPosition =
  | { readonly kind: 'applied'; readonly nextOffset: bigint; readonly lastDigest: Uint8Array | null }
  | { readonly kind: 'beginning' }
  | { readonly kind: 'group-offset' }

/** The offsets that a partition holds: low is the first record, high the one after the last. */
export interface LogBounds {
  readonly low: bigint
  readonly high: bigint
}

export type ChainBreakCode = 'BEYOND_END' | 'LOST_BY_RETENTION' | 'DIGEST_MISMATCH' | 'RECORD_MISSING' | 'POSITION_UNREADABLE'

/** The log does not continue where the database stopped. The partition stays paused until an operator decides. */
export interface ChainBreak {
  readonly kind: 'broken'
  readonly code: ChainBreakCode
  readonly reason: string
}

/** `position` is what the handler gets next; `fetchFrom` lies one before it when the last record must be compared first. */
export type StartPlan =
  | {
      readonly kind: 'read'
      readonly position: bigint
      readonly fetchFrom: bigint
      readonly verifyDigest: Uint8Array | null
      readonly warning: string | null
    }
  | ChainBreak

/**
 * Decides from offsets alone where to start reading.
 * @param groupOffset what Kafka remembers for the group, or null; looked at only for `group-offset`.
 */
export function planStart(start: StartPosition, bounds: LogBounds, groupOffset: bigint | null): StartPlan {
  if (start.kind === 'beginning') return planBeginning(bounds)
  if (start.kind === 'group-offset') {
    return groupOffset === null ? planBeginning(bounds) : planAt(groupOffset, null, bounds)
  }
  return planAt(start.nextOffset, start.lastDigest, bounds)
}

function planBeginning({ low }: LogBounds): StartPlan {
  const warning = low > 0n ? `the log begins at offset ${low}: earlier records are gone` : null
  return { kind: 'read', position: low, fetchFrom: low, verifyDigest: null, warning }
}

function planAt(nextOffset: bigint, lastDigest: Uint8Array | null, { low, high }: LogBounds): StartPlan {
  if (nextOffset > high) {
    return broken('BEYOND_END', `next offset ${nextOffset} lies beyond the end ${high}: the topic was truncated or created again`)
  }
  if (nextOffset < low) {
    return broken('LOST_BY_RETENTION', `next offset ${nextOffset} lies before the start ${low}: ${low - nextOffset} offsets were lost`)
  }
  if (lastDigest === null || nextOffset === 0n) {
    return { kind: 'read', position: nextOffset, fetchFrom: nextOffset, verifyDigest: null, warning: null }
  }
  if (nextOffset === low) {
    const warning = `the last applied record was removed by retention; going on at offset ${nextOffset} unverified`
    return { kind: 'read', position: nextOffset, fetchFrom: nextOffset, verifyDigest: null, warning }
  }
  return { kind: 'read', position: nextOffset, fetchFrom: nextOffset - 1n, verifyDigest: lastDigest, warning: null }
}

/**
 * Compares the first record that was read at `position - 1` with the digest of the last applied record.
 * @returns null if they agree.
 */
export function verifyLast(position: bigint, digest: Uint8Array, first: SourceRecord): ChainBreak | null {
  const expectedOffset = position - 1n
  if (first.position.offset !== expectedOffset) {
    return broken(
      'RECORD_MISSING',
      `there is no record at offset ${expectedOffset}, the last applied one; the next is at ${first.position.offset}`,
    )
  }
  if (recordDigest(first).equals(digest)) return null
  return broken('DIGEST_MISMATCH', `the record at offset ${expectedOffset} is not the one that was applied: the topic was created again`)
}

export function broken(code: ChainBreakCode, reason: string): ChainBreak {
  return { kind: 'broken', code, reason }
}
