import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalIntent, intentDigest } from '../src/digest.ts'
import { command } from './builders.ts'

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '"', '\\', '\u2028', '\u007f', '\u0000', '\u001f', '\b\f\n\r\t', '/', '€', '😀', '\ufb33', '10', '1', '__proto__'),
)
const anyIntent = fc.dictionary(
  anyText.filter((name) => name !== '__proto__'),
  anyText,
  { maxKeys: 8 },
)

describe('[IDN-4] the digest of an intent', () => {
  it('is taken over RFC 8785, as the reference implementation writes it', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 99_999 }), anyText, anyIntent, (contract, version, key, intent) => {
        expect(canonicalIntent(contract, version, key, intent)).toBe(canonicalize({ version, key, intent, contract }))
      }),
      { numRuns: 2_000 },
    )
  })

  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(anyIntent, (intent) => {
        const turned = Object.fromEntries(Object.entries(intent).toReversed())
        expect(intentDigest('deposit', 1, 'bank/alice', turned)).toBe(intentDigest('deposit', 1, 'bank/alice', intent))
      }),
    )
  })

  it('is the same in every release', () => {
    expect(canonicalIntent('deposit', 1, 'bank/alice', { currency: 'CZK', amount: '10000' })).toBe(
      '{"contract":"deposit","intent":{"amount":"10000","currency":"CZK"},"key":"bank/alice","version":1}',
    )
    expect(command().digest).toBe('bbdb8aa78d68835d5590f6d7dfe47cbd8145dcd95ddd0c200a25989f4d62dcbf')
  })

  it('changes with contract, version, account and every field', () => {
    const digests = [
      intentDigest('deposit', 1, 'bank/alice', { amount: '1' }),
      intentDigest('withdraw', 1, 'bank/alice', { amount: '1' }),
      intentDigest('deposit', 2, 'bank/alice', { amount: '1' }),
      intentDigest('deposit', 1, 'bank/bob', { amount: '1' }),
      intentDigest('deposit', 1, 'bank/alice', { amount: '2' }),
      intentDigest('deposit', 1, 'bank/alice', { amounts: '1' }),
    ]
    expect(new Set(digests).size).toBe(digests.length)
  })

  it('leaves out what the contract does not name', () => {
    const data = { amount: '10000', currency: 'CZK' }
    expect(command({ data: { ...data, sentAt: '2023-11-14', nested: { traceId: 1 } } }).digest).toBe(command({ data }).digest)
  })
})
