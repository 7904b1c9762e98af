import type { RejectionPolicy, RejectionReason } from '../contract.ts'
import type { IdKind } from '../identity.ts'
import { MS_PER_DAY } from '../time.ts'

const ANY_ID: readonly IdKind[] = ['uuidv7', 'ulid', 'uuid', 'opaque']
export const TIMED_ID: readonly IdKind[] = ['uuidv7', 'ulid']

/** Absence may end (an account is opened, a target arrives), so it is retryable; what the ledger decided for good is final. */
export const REJECTIONS: Readonly<Record<RejectionReason, RejectionPolicy>> = {
  ACCOUNT_NOT_FOUND: 'retryable',
  ACCOUNT_EXISTS: 'final',
  INSUFFICIENT_FUNDS: 'final',
  BALANCE_OVERFLOW: 'retryable',
  TARGET_NOT_FOUND: 'retryable',
  TARGET_NOT_REVERSIBLE: 'final',
  ALREADY_REVERSED: 'final',
}

export const JUDGED_BY_OPERATION = {
  issuer: 'client',
  identity: 'operation',
  scope: 'business-key',
  consumer: 'ledger',
  order: 'none',
  eventIdKinds: ANY_ID,
  clockSkewMs: MS_PER_DAY,
  resultRetention: 'permanent',
  onDuplicate: 'first-result',
  onConflict: 'audit-and-refuse',
  rejections: REJECTIONS,
} as const
