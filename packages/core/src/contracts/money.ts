import { z } from 'zod'
import type { Contract, RejectionPolicy, RejectionReason } from '../contract.ts'
import type { IdKind } from '../identity.ts'
import { MS_PER_DAY } from '../time.ts'
import { amountField, currencyField, limitField, referenceField } from './fields.ts'

const ANY_ID: readonly IdKind[] = ['uuidv7', 'ulid', 'uuid', 'opaque']
const TIMED_ID: readonly IdKind[] = ['uuidv7', 'ulid']

/** Absence may end (an account is opened, a target arrives), so it is retryable; what the ledger decided for good is final. */
const REJECTIONS: Readonly<Record<RejectionReason, RejectionPolicy>> = {
  ACCOUNT_NOT_FOUND: 'retryable',
  ACCOUNT_EXISTS: 'final',
  INSUFFICIENT_FUNDS: 'final',
  BALANCE_OVERFLOW: 'retryable',
  TARGET_NOT_FOUND: 'retryable',
  TARGET_NOT_REVERSIBLE: 'final',
  ALREADY_REVERSED: 'final',
}

const JUDGED_BY_OPERATION = {
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

/** Opens the account when it is the first to name it. */
const depositV1: Contract = {
  ...JUDGED_BY_OPERATION,
  name: 'deposit',
  version: 1,
  effect: { kind: 'post', sign: 1n, opensAccount: true },
  data: z.object({ amount: amountField, currency: currencyField }),
}

/** Adds a reference to the intent: the same deposit under another reference is another intent. */
const depositV2: Contract = {
  ...depositV1,
  version: 2,
  data: z.object({ amount: amountField, currency: currencyField, reference: referenceField }),
}

const withdrawV1: Contract = {
  ...JUDGED_BY_OPERATION,
  name: 'withdraw',
  version: 1,
  effect: { kind: 'post', sign: -1n, opensAccount: false },
  data: z.object({ amount: amountField, currency: currencyField }),
}

/** A withdrawal that waits for money: insufficient funds refuse the attempt and not the operation. */
const collectV1: Contract = {
  ...withdrawV1,
  name: 'collect',
  rejections: { ...REJECTIONS, INSUFFICIENT_FUNDS: 'retryable' },
}

/** The credit of the specification's SQL: judged by event, so only ids that carry their time are taken. */
const creditV1: Contract = {
  ...JUDGED_BY_OPERATION,
  name: 'credit',
  version: 1,
  issuer: 'producer',
  identity: 'event',
  consumer: 'credit',
  eventIdKinds: TIMED_ID,
  resultRetention: 'window',
  effect: { kind: 'post', sign: 1n, opensAccount: false },
  data: z.object({ amount: amountField, currency: currencyField }),
}

/** Opens an account with its overdraft limit. An account that a deposit opened has limit zero. */
const openV1: Contract = {
  ...JUDGED_BY_OPERATION,
  name: 'open',
  version: 1,
  effect: { kind: 'open' },
  data: z.object({ currency: currencyField, overdraftLimit: limitField }),
}

/** Undoes one applied operation of the same business key and currency, once, in full. */
const reverseV1: Contract = {
  ...JUDGED_BY_OPERATION,
  name: 'reverse',
  version: 1,
  effect: { kind: 'reverse' },
  data: z.object({
    targetType: referenceField.describe('Contract name of the operation to reverse, for instance `deposit`.'),
    targetOperationId: referenceField.describe('operation_id of the operation to reverse.'),
    currency: currencyField,
  }),
}

/** The contracts that this release ships. */
export const MONEY_CONTRACTS: readonly Contract[] = [depositV1, depositV2, withdrawV1, collectV1, creditV1, openV1, reverseV1]
