import type { SourceRecord } from '@onceledger/core'
import { CommandLogError } from './errors.ts'

/** Records of one partition in order. `expectedOffset` is the position they were fetched from: the previous nextOffset. */
export interface PartitionBatch {
  readonly topic: string
  readonly partition: number
  readonly expectedOffset: bigint
  readonly records: readonly SourceRecord[]
}

/**
 * What the handler says of a batch.
 * `done`: everything before nextOffset is finished for good; what lies beyond is handed out again.
 * `seek`: the database stands elsewhere; reading starts again there, after lastDigest was compared.
 * `pause`: nothing is finished; the same records come again after the delay.
 */
export type HandleOutcome =
  | { readonly kind: 'done'; readonly nextOffset: bigint }
  | { readonly kind: 'seek'; readonly nextOffset: bigint; readonly lastDigest: Uint8Array | null }
  | { readonly kind: 'pause'; readonly retryAfterMs: number; readonly reason: string }

/**
 * A finished prefix lies inside its batch. Anything else would skip records, so it is refused (ADJ-8).
 * @throws CommandLogError OUTCOME_INVALID
 */
export function requireValidOutcome(batch: PartitionBatch, outcome: HandleOutcome): HandleOutcome {
  if (outcome.kind === 'pause') return outcome
  const last = batch.records.at(-1)?.position.offset ?? batch.expectedOffset - 1n
  const tooFar = outcome.kind === 'done' && outcome.nextOffset > last + 1n
  const tooEarly = outcome.nextOffset < (outcome.kind === 'done' ? batch.expectedOffset : 0n)
  if (tooFar || tooEarly) {
    throw new CommandLogError(
      'OUTCOME_INVALID',
      `partition ${batch.partition}: ${outcome.kind} at ${outcome.nextOffset} for a batch from ${batch.expectedOffset} to ${last}`,
    )
  }
  return outcome
}
