import type { FirstResult } from './verdict.ts'

/** An operation as it is stored for ever (RET-1). */
export interface StoredOperation {
  readonly contractVersion: number
  readonly digest: string
  readonly result: FirstResult
}

/** An event as the inbox keeps it. `digest` and `result` stand only where the contract is judged by event. */
export interface StoredEvent {
  readonly contractVersion: number
  readonly verdict: 'APPLIED' | 'DUPLICATE' | 'CONFLICT' | 'REJECTED'
  /** `type/operationId` of the operation that the event carried, or null where the event itself is the identity. */
  readonly operation: string | null
  readonly digest: string | null
  readonly result: FirstResult | null
}

/** An account row as locked by the transaction that judges. */
export interface AccountState {
  readonly balanceMinor: bigint
  readonly version: bigint
  readonly overdraftLimitMinor: bigint
}

/**
 * Everything that a batch's verdicts depend on. Keys come from `keys.ts`. Absence means "not there", so a state that was not read
 * may be judged against only if the write would fail on what it missed: the unique keys decide (ADJ-2).
 */
export interface LedgerState {
  readonly operations: ReadonlyMap<string, StoredOperation>
  readonly events: ReadonlyMap<string, StoredEvent>
  readonly accounts: ReadonlyMap<string, AccountState>
  /** Operations that are already reversed, by the key of the target. */
  readonly reversals: ReadonlySet<string>
  /** Keys of accounts whose stored row contradicts its key; judging one is a fault. */
  readonly corruptAccounts: ReadonlySet<string>
}
