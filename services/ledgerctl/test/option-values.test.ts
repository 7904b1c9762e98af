import { InvalidArgumentError } from 'commander'
import { describe, expect, it } from 'vitest'
import { accountPoint, timeUs } from '../src/option-values.ts'
import { timeOfUs } from '../src/output.ts'

describe('a time', () => {
  it.each<[string, bigint]>([
    ['1970-01-01T00:00:01Z', 1_000_000n],
    ['1970-01-01T00:00:01.5Z', 1_500_000n],
    ['1970-01-01T00:00:01.000001Z', 1_000_001n],
    ['1970-01-01T00:00:01.0000019Z', 1_000_001n],
    ['1970-01-01T02:00:01.25+02:00', 1_250_000n],
    ['1969-12-31T23:59:59.75Z', -250_000n],
  ])('%s keeps its microseconds', (text, us) => {
    expect(timeUs(text)).toBe(us)
  })

  it('that was shown means the same microsecond when it is given back', () => {
    const us = 1_796_144_034_319_007n
    expect(timeUs(timeOfUs(us))).toBe(us)
  })

  it.each(['noon', '2026-12-01', '2026-12-01T10:00:00', '2026-13-01T10:00:00Z', ''])('is not %j', (text) => {
    expect(() => timeUs(text)).toThrow(InvalidArgumentError)
  })
})

describe('a point in the history of an account', () => {
  it('is a version or a time', () => {
    expect(accountPoint('17')).toEqual({ version: 17n })
    expect(accountPoint('1970-01-01T00:00:01.000002Z')).toEqual({ timeUs: 1_000_002n })
    expect(() => accountPoint('-1')).toThrow(InvalidArgumentError)
  })
})
