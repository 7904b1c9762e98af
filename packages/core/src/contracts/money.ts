import { z } from 'zod'
import type { Contract } from '../contract.ts'
import { amountField, currencyField, limitField, referenceField } from './fields.ts'
import { entryV1, limitV1 } from './ordered.ts'
import { JUDGED_BY_OPERATION, REJECTIONS, TIMED_ID } from './rules.ts'

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

/** A withdrawal whose operation id is unique in the whole tenant, as a payment number is: under another account it is a conflict (RTE-2). */
const payV1: Contract = {
  ...withdrawV1,
  name: 'pay',
  scope: 'tenant',
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
export const MONEY_CONTRACTS: readonly Contract[] = [
  depositV1,
  depositV2,
  withdrawV1,
  collectV1,
  payV1,
  creditV1,
  openV1,
  reverseV1,
  entryV1,
  limitV1,
]
