import type { Command } from './command.ts'
import type { AggregateId, BusinessKey } from './identity.ts'
import type { FirstResult, RecordedVerdict } from './verdict.ts'

/** An operation as it is stored for ever (RET-1). */
export interface StoredOperation {
  readonly contractVersion: number
  readonly digest: string
  readonly result: FirstResult
}

/** An event as the inbox keeps it. `digest` and `result` stand only where the contract is judged by event. */
export interface StoredEvent {
  readonly contractVersion: number
  readonly verdict: RecordedVerdict
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
  /** Version of the snapshot that set the limit, 0 before any did. */
  readonly limitVersion: bigint
}

/** A command that waits for its predecessor, as it was kept. */
export interface StoredDeferred {
  readonly command: Command
  readonly version: bigint
}

/** What a tenant-wide identity is bound to (RTE-2). */
export interface StoredBinding {
  readonly contractVersion: number
  readonly digest: string
  readonly businessKey: BusinessKey
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
  /** Last version taken by each business key with a sequence; a key without a row has taken none. */
  readonly sequences: ReadonlyMap<AggregateId, bigint>
  /** Who took a version: an operation's reference or an event id, by `stepKey`. */
  readonly steps: ReadonlyMap<string, string>
  /** Commands that may be judged once the head has reached them, in any order. */
  readonly deferred: ReadonlyMap<AggregateId, readonly StoredDeferred[]>
  /** Commands of the batch that wait already, by `deferredKeyOf`. */
  readonly deferredKeys: ReadonlySet<string>
  /** By `bindingKey`. */
  readonly bindings: ReadonlyMap<string, StoredBinding>
  /** Keys of accounts whose stored row contradicts its key; judging one is a fault. */
  readonly corruptAccounts: ReadonlySet<string>
}

/** A ledger in which nothing ever happened, or of which nothing was read. */
export const EMPTY_STATE: LedgerState = {
  operations: new Map(),
  events: new Map(),
  accounts: new Map(),
  reversals: new Set(),
  sequences: new Map(),
  steps: new Map(),
  deferred: new Map(),
  deferredKeys: new Set(),
  bindings: new Map(),
  corruptAccounts: new Set(),
}
