import type { RejectionReason } from './contract.ts'

/** DESIGN: the verdicts of an adjudication. STALE, DEFERRED and UNDETERMINED belong to contracts with an order and to the cold archive. */
export type Verdict = 'APPLIED' | 'DUPLICATE' | 'CONFLICT' | 'REJECTED' | 'PARKED'

/** What the first commit stored and every duplicate is answered with (IDN-7). */
export interface FirstResult {
  readonly verdict: 'APPLIED' | 'REJECTED'
  readonly reason: RejectionReason | null
  readonly currency: string | null
  /** Signed minor units posted to the account. */
  readonly amountMinor: bigint
  readonly accountVersion: bigint
  readonly balanceAfterMinor: bigint
  /** Microseconds since 1970, UTC. */
  readonly committedAtUs: bigint
}

/** The answer to one command. `first` is null exactly for CONFLICT and PARKED. */
export interface Judgement {
  readonly verdict: Verdict
  readonly reason: string | null
  readonly first: FirstResult | null
}
