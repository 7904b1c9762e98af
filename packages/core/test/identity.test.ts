import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidCommand } from '../src/errors.ts'
import {
  aggregateIdOf,
  externalKeyOf,
  idFromBytes,
  idKindOf,
  idKindOfHex,
  idTimeMsOfHex,
  idToHex,
  parseBusinessKey,
  parseEventId,
  parseOperationId,
  parseTenantId,
  routingKey,
} from '../src/identity.ts'

const UUIDV7 = '018bcfe5-6800-7000-8000-00000000000a'
const UUIDV4 = '9f2b1c3a-4d5e-4f60-8a7b-0123456789ab'
const ULID = '01HF7YAT00ABCDEFGHJKMNPQRS'

function codeOf(parse: () => unknown): string | undefined {
  try {
    parse()
    return undefined
  } catch (error) {
    if (!(error instanceof InvalidCommand)) throw error
    return error.code
  }
}

describe('[IDN-1] texts that name something', () => {
  it.each([
    ['an empty tenant', () => parseTenantId(''), 'ID_EMPTY'],
    ['a tenant with a slash', () => parseTenantId('a/b'), 'TENANT_HAS_SLASH'],
    ['a tenant of 65 bytes', () => parseTenantId('x'.repeat(65)), 'ID_TOO_LONG'],
    ['a tenant of 64 bytes', () => parseTenantId('x'.repeat(64)), undefined],
    ['a key with a slash', () => parseBusinessKey('a/b'), undefined],
    ["a key of the ledger's own", () => parseBusinessKey('@external/0'), 'KEY_RESERVED'],
    ['a key of 129 bytes', () => parseBusinessKey('x'.repeat(129)), 'ID_TOO_LONG'],
    ['a key of 43 characters with 129 bytes', () => parseBusinessKey('€'.repeat(43)), 'ID_TOO_LONG'],
    ['a key of 64 characters with 128 bytes', () => parseBusinessKey('é'.repeat(64)), undefined],
    ['an id with NUL', () => parseEventId('a\u0000b'), 'ID_NUL'],
    ['half a surrogate pair', () => parseOperationId('a\ud800'), 'ID_NOT_UNICODE'],
    ['a whole surrogate pair', () => parseOperationId('😀'), undefined],
    ['spaces, kept as they are', () => parseOperationId(' a '), undefined],
  ])('%s', (_, parse, code) => {
    expect(codeOf(parse)).toBe(code)
  })

  it('are compared as bytes: neither case nor Unicode form is folded', () => {
    expect(parseEventId('É')).not.toBe(parseEventId('E\u0301'))
    expect(aggregateIdOf('bank', 'Alice')).not.toBe(aggregateIdOf('bank', 'alice'))
  })
})

describe('stored ids', () => {
  it.each([
    [UUIDV7, 'uuidv7', '01018bcfe568007000800000000000000a'],
    [UUIDV4, 'uuid', '039f2b1c3a4d5e4f608a7b0123456789ab'],
    ['018bcfe5-6800-7000-c000-00000000000a', 'uuid', '03018bcfe568007000c00000000000000a'],
    [ULID, 'ulid', '02018bcfe5680052d8d73e1194e95b5f19'],
    ['abc', 'opaque', '00616263'],
    [UUIDV7.toUpperCase(), 'opaque', `00${Buffer.from(UUIDV7.toUpperCase()).toString('hex')}`],
    [ULID.toLowerCase(), 'opaque', `00${Buffer.from(ULID.toLowerCase()).toString('hex')}`],
  ])('%s is kept as %s', (id, kind, hex) => {
    expect([idKindOf(id), idToHex(id), idKindOfHex(idToHex(id))]).toEqual([kind, hex, kind])
    expect(idFromBytes(Buffer.from(hex, 'hex'))).toBe(id)
  })

  it('carry the time of a UUIDv7 or ULID, and none otherwise', () => {
    expect([UUIDV7, ULID, UUIDV4, 'abc'].map((id) => idTimeMsOfHex(idToHex(id)))).toEqual([
      1_700_000_000_000,
      1_700_000_000_000,
      null,
      null,
    ])
  })

  const ulid = fc.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((id) => id.isWellFormed() && !id.includes('\u0000'))
  const anyId = fc.oneof(
    fc.uuid(),
    fc.uuid({ version: 7 }),
    fc.uuid().map((id) => id.toUpperCase()),
    ulid,
    text,
  )

  it('come back as they were', () => {
    const comeBack = fc.property(anyId, (id) => {
      expect(idFromBytes(Buffer.from(idToHex(id), 'hex'))).toBe(id)
    })
    fc.assert(comeBack, { numRuns: 2_000 })
  })

  it('of a kind that nobody wrote are a fault', () => {
    expect(() => idFromBytes(Buffer.from([9, 1, 2]))).toThrow('unknown kind')
  })
})

describe('[RTE-1] the place of a business key', () => {
  it('is a function of tenant and key', () => {
    expect(routingKey('bank', 'alice')).toBe('bank/alice')
    expect(aggregateIdOf('bank', 'alice')).toBe('ad6b07d3c5d8234e4b5de8bfd9afc7a4')
    expect(aggregateIdOf('bank', 'a/b')).not.toBe(aggregateIdOf('bank', 'a'))
  })

  it("gives each bucket a counter account that no command's key can name", () => {
    expect(codeOf(() => parseBusinessKey(externalKeyOf(7)))).toBe('KEY_RESERVED')
    expect(externalKeyOf(7)).toBe('@external/7')
  })
})
