import type { BatchWrites, Decision, Judgement, Verdict } from '@onceledger/core'
import type { VerdictTally } from './sql/fence.ts'

export const NO_TALLY: VerdictTally = { applied: 0, duplicate: 0, conflict: 0, rejected: 0, parked: 0, deferred: 0, stale: 0 }

const COUNT_OF: Readonly<Record<Verdict, keyof VerdictTally>> = {
  APPLIED: 'applied',
  DUPLICATE: 'duplicate',
  CONFLICT: 'conflict',
  REJECTED: 'rejected',
  PARKED: 'parked',
  DEFERRED: 'deferred',
  STALE: 'stale',
}

/**
 * How a transaction changes the counts of its partition. `passed`: verdicts of messages that the offset passes now. A message that waited
 * moves from `deferred` to its verdict; one whose event waits already is a duplicate, so that `deferred` counts the rows that wait.
 */
export function tallyOf(passed: readonly Judgement[], decisions: readonly Decision[], writes: BatchWrites): VerdictTally {
  const counts: Record<keyof VerdictTally, number> = { ...NO_TALLY }
  for (const { verdict } of passed) counts[COUNT_OF[verdict]]++
  counts.duplicate += Math.max(0, counts.deferred - writes.deferrals.length)
  counts.deferred = writes.deferrals.length - writes.drained.length
  const waited = new Set(writes.drained)
  for (const { command, judgement } of decisions) if (waited.has(command)) counts[COUNT_OF[judgement.verdict]]++
  return counts
}
