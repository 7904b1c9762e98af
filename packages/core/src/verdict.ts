import type { RejectionReason } from './contract.ts'

/** `DEFERRED`: ahead of its business key, kept until its turn comes. `STALE`: behind it, without an effect (ORD-1, ORD-4). */
export type Verdict = 'APPLIED' | 'DUPLICATE' | 'CONFLICT' | 'REJECTED' | 'PARKED' | 'DEFERRED' | 'STALE'

/** Verdicts that leave an inbox row: all but those of messages that are kept elsewhere, to be judged again. */
export type RecordedVerdict = Exclude<Verdict, 'PARKED' | 'DEFERRED'>

/** Why an inbox row has its verdict. */
export type EventReason = RejectionReason | 'OTHER_INTENT' | 'VERSION_TAKEN' | 'BEHIND_SEQUENCE' | 'BEHIND_SNAPSHOT'

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

/** The answer to one command. `first` stands exactly with APPLIED, REJECTED and DUPLICATE. */
export interface Judgement {
  readonly verdict: Verdict
  readonly reason: string | null
  readonly first: FirstResult | null
}
