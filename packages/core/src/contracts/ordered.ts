import { z } from 'zod'
import type { Contract } from '../contract.ts'
import { MS_PER_DAY } from '../time.ts'
import { currencyField, limitField, signedAmountField } from './fields.ts'
import { JUDGED_BY_OPERATION } from './rules.ts'

/** One booking of an account's history, in the order in which its source numbered it (ORD-1). The account must have been opened. */
export const entryV1: Contract = {
  ...JUDGED_BY_OPERATION,
  name: 'entry',
  version: 1,
  order: 'sequence',
  sequence: { finalRejection: 'takes-version', deferredAgeMaxMs: 3 * MS_PER_DAY },
  effect: { kind: 'post', sign: 1n, opensAccount: false },
  data: z.object({ amount: signedAmountField, currency: currencyField }),
}

/** Sets an account's overdraft limit. Of several the highest version stands, whatever their order of arrival (ORD-4). */
export const limitV1: Contract = {
  ...JUDGED_BY_OPERATION,
  name: 'limit',
  version: 1,
  order: 'snapshot',
  effect: { kind: 'limit' },
  data: z.object({ currency: currencyField, overdraftLimit: limitField }),
}
