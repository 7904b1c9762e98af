import type { Command } from './command.ts'
import type { AggregateId, BusinessKey, TenantId } from './identity.ts'
import type { EventReason, FirstResult, RecordedVerdict } from './verdict.ts'

/** Rows that one adjudicated batch writes, in the order of the commands that caused them. */
export interface BatchWrites {
  readonly operations: OperationWrite[]
  readonly events: EventWrite[]
  readonly postings: PostingWrite[]
  readonly accounts: AccountWrite[]
  readonly reversals: ReversalWrite[]
  readonly audits: AuditWrite[]
  readonly parked: ParkedWrite[]
  readonly sequences: SequenceWrite[]
  readonly steps: StepWrite[]
  readonly deferrals: DeferralWrite[]
  /** Commands that waited in the database and have their verdict now: their rows go. */
  readonly drained: Command[]
  readonly bindings: BindingWrite[]
}

/** The permanent row; where the operation was applied it is its posting too. */
export interface OperationWrite {
  readonly command: Command
  readonly result: FirstResult
}

export interface EventWrite {
  readonly command: Command
  readonly eventDay: number
  readonly verdict: RecordedVerdict
  readonly reason: EventReason | null
  /** Only where the contract is judged by event. */
  readonly result: FirstResult | null
}

/** A posting that no operation row carries: the contract is judged by event. */
export interface PostingWrite {
  readonly command: Command
  readonly result: FirstResult
}

export interface AccountWrite {
  readonly aggregateId: string
  readonly tenantId: string
  readonly businessKey: string
  readonly currency: string
  readonly bucket: number
  /** True when the row does not exist yet; `versionBefore` is then zero. */
  readonly created: boolean
  readonly versionBefore: bigint
  readonly version: bigint
  readonly balanceMinor: bigint
  readonly overdraftLimitMinor: bigint
  readonly limitVersion: bigint
}

/** The head of one business key's sequence. */
export interface SequenceWrite {
  readonly aggregateId: AggregateId
  readonly tenantId: TenantId
  readonly businessKey: BusinessKey
  readonly bucket: number
  /** True when the row does not exist yet; `versionBefore` is then zero. */
  readonly created: boolean
  readonly versionBefore: bigint
  readonly version: bigint
}

/** The command that took a version of its business key's sequence. */
export interface StepWrite {
  readonly command: Command
  readonly version: bigint
}

/** A command ahead of its business key, kept whole (ORD-2). */
export interface DeferralWrite {
  readonly command: Command
  readonly version: bigint
  readonly eventDay: number
}

/** A tenant-wide identity that this command is the first to claim. */
export interface BindingWrite {
  readonly command: Command
}

export interface ReversalWrite {
  readonly command: Command
  readonly targetType: string
  readonly targetOperationId: string
}

/** `CONFLICT`: same identity, other intent (IDN-6). `EVENT_REUSED`: one event id for two operations. */
export interface AuditWrite {
  readonly command: Command
  readonly kind: 'CONFLICT' | 'EVENT_REUSED'
  readonly firstDigest: string | null
  readonly firstContractVersion: number | null
  readonly firstOperation: string | null
}

export interface ParkedWrite {
  readonly record: Command['record']
  readonly tenantId: string | null
  readonly reason: string
  readonly detail: string
  /** A retryable refusal may be tried again later; anything else waits for an operator. */
  readonly retryable: boolean
}
