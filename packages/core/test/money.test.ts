import { describe, expect, it } from 'vitest'
import { InvalidCommand } from '../src/errors.ts'
import { fitsMinorUnits, MINOR_UNITS_MAX } from '../src/money.ts'
import { command } from './builders.ts'
import { KeptState } from './kept-state.ts'

function balanceAfter(amount: unknown): bigint | undefined {
  return new KeptState().judge([command({ data: { amount, currency: 'CZK' } })]).judgements[0]?.first?.balanceAfterMinor
}

describe('[IDN-5] money', () => {
  it.each(['1', '9007199254740991', '9007199254740992', '9007199254740993', '9223372036854775806', '9223372036854775807'])(
    'of %s minor units comes out as it went in',
    (digits) => {
      expect(balanceAfter(digits)).toBe(BigInt(digits))
    },
  )

  it.each([
    ['zero', '0'],
    ['a negative', '-1'],
    ['a plus sign', '+1'],
    ['a leading zero', '01'],
    ['a fraction', '1.0'],
    ['an exponent', '1e3'],
    ['hexadecimal', '0x10'],
    ['a space', ' 1'],
    ['a line feed', '1\n'],
    ['other digits', '１'],
    ['a separator', '1_000'],
    ['nothing', ''],
    ['2^63', '9223372036854775808'],
    ['20 digits', '10000000000000000000'],
    ['a JSON number', 1],
    ['a JSON number that already lost digits', 9_007_199_254_740_992],
    ['null', null],
    ['a boolean', true],
    ['a list', ['1']],
    ['no amount', undefined],
  ])('is refused as %s', (_, amount) => {
    expect(() => balanceAfter(amount)).toThrow(expect.objectContaining({ name: InvalidCommand.name, code: 'DATA_INVALID' }) as Error)
  })

  it.each(['czk', 'CZ', 'CZKK', 'ČZK', 'CZ1', '', null, 203])('is refused in the currency %s', (currency) => {
    expect(() => command({ data: { amount: '1', currency } })).toThrow(InvalidCommand)
  })

  it('fits in 64 bits, the same way in both directions', () => {
    expect(MINOR_UNITS_MAX).toBe(9_223_372_036_854_775_807n)
    expect([MINOR_UNITS_MAX, -MINOR_UNITS_MAX, MINOR_UNITS_MAX + 1n, -MINOR_UNITS_MAX - 1n].map(fitsMinorUnits)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})
