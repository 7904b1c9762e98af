import type { Judgement } from '@onceledger/core'
import type { BatchOutcome } from '@onceledger/ledger-store'

/** The judgements of a batch that must have been committed. */
export function judgementsOf(outcome: BatchOutcome): readonly Judgement[] {
  if (outcome.kind !== 'committed') throw new Error(`not committed but ${outcome.kind}`)
  return outcome.judgements
}

export function verdictsOf(outcome: BatchOutcome): string[] {
  return judgementsOf(outcome).map(({ verdict }) => verdict)
}
