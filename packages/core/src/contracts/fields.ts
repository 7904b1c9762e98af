import { z } from 'zod'
import { ID_BYTES_MAX } from '../identity.ts'
import { fitsMinorUnits } from '../money.ts'

const DIGITS_ERROR = 'must be decimal digits without sign, fraction or leading zero'

function minorUnits(pattern: RegExp, error: string): z.ZodString {
  return z
    .string({ error: 'must be a string of decimal digits (minor units); a JSON number is refused' })
    .regex(pattern, { error, abort: true })
    .refine((digits) => fitsMinorUnits(BigInt(digits)), { error: 'must be at most 9223372036854775807' })
}

/** Decimal minor units. A JSON number is refused: it has already lost digits on its way here (IDN-5). */
export const amountField = minorUnits(/^[1-9][0-9]{0,18}$/, `${DIGITS_ERROR}, larger than zero`).describe(
  'Integer count of minor units, larger than zero, at most 9223372036854775807.',
)

/** Credited when positive. */
export const signedAmountField = minorUnits(
  /^-?[1-9][0-9]{0,18}$/,
  'must be decimal digits, not zero, with a leading - where it is taken off',
).describe('Integer count of minor units, not zero: positive is credited, negative is taken off. At most 9223372036854775807 either way.')

export const limitField = minorUnits(/^(0|[1-9][0-9]{0,18})$/, DIGITS_ERROR).describe(
  'Integer count of minor units by which the balance may go below zero.',
)

export const currencyField = z
  .string({ error: 'must be a string' })
  .regex(/^[A-Z]{3}$/, { error: 'must be three capital letters (ISO 4217)' })
  .describe('ISO 4217 alphabetic code.')

/** Text that is stored or digested, so it must survive UTF-8 unchanged. */
export const referenceField = z
  .string({ error: 'must be a string' })
  .min(1, { error: 'must not be empty' })
  .max(ID_BYTES_MAX, { error: `must have at most ${ID_BYTES_MAX} characters` })
  .refine((text) => text.isWellFormed() && !text.includes('\u0000'), { error: 'must be well-formed Unicode without NUL' })
  .describe('Text that belongs to the intent, compared exactly.')
