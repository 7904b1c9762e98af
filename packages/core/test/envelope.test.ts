import { type CloudEvent, CloudEvent as SdkEvent, Kafka } from 'cloudevents'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createContractRegistry, type Decoded, decodeRecord, encodeCommand, MONEY_CONTRACTS, type SourceRecord } from '../src/index.ts'

const registry = createContractRegistry(MONEY_CONTRACTS)
const PARTITION = 3
const options = { registry, bucketOf: () => PARTITION }
const STRUCTURED = { 'content-type': 'application/cloudevents+json' }
const EVENT_ID = '0190a000-0000-7000-8000-000000000001'

const EVENT = {
  specversion: '1.0',
  id: EVENT_ID,
  source: '/test',
  type: 'onceledger.deposit.v1',
  tenantid: 'bank',
  businesskey: 'anna',
  operationid: 'pay-1',
  data: { amount: '9007199254740993', currency: 'EUR' },
}

interface RecordSpec {
  readonly value: string | Uint8Array | null
  readonly headers?: Readonly<Record<string, string | Uint8Array>>
  readonly key?: string | null
  readonly partition?: number
}

function record({ value, headers = STRUCTURED, key = 'bank/anna', partition = PARTITION }: RecordSpec): SourceRecord {
  const bytes = (part: string | Uint8Array): Uint8Array => (typeof part === 'string' ? Buffer.from(part, 'utf8') : part)
  return {
    position: { topic: 't', partition, offset: 7n },
    key: key === null ? null : bytes(key),
    value: value === null ? null : bytes(value),
    headers: Object.entries(headers).map(([name, header]) => [name, bytes(header)]),
    timestampMs: 0n,
  }
}

const decode = (spec: RecordSpec): Decoded => decodeRecord(record(spec), options)
const decodeEvent = (changes: Record<string, unknown>): Decoded => decode({ value: JSON.stringify({ ...EVENT, ...changes }) })

function reasonOf(decoded: Decoded): string {
  return decoded.kind === 'refused' ? decoded.parked.reason : 'ACCEPTED'
}

describe('a good message', () => {
  it('[IDN-1] [IDN-5] in structured mode is the command that it says, to the last digit', () => {
    const decoded = decode({ value: JSON.stringify(EVENT) })
    if (decoded.kind !== 'command') throw new Error(decoded.parked.detail)
    const { command } = decoded
    expect(command).toMatchObject({ eventId: EVENT_ID, operationId: 'pay-1', tenantId: 'bank', businessKey: 'anna', bucket: PARTITION })
    expect(command.intent).toEqual({ amount: '9007199254740993', currency: 'EUR' })
  })

  it('in binary mode is the same command', () => {
    const { data, ...attributes } = EVENT
    const headers = Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce_${name}`, value]))
    const binary = decode({ value: JSON.stringify(data), headers: { ...headers, 'content-type': 'application/json; charset=utf-8' } })
    const structured = decode({ value: JSON.stringify(EVENT) })
    if (binary.kind !== 'command' || structured.kind !== 'command') throw new Error('refused')
    expect(binary.command.digest).toBe(structured.command.digest)
    expect(binary.command.eventId).toBe(structured.command.eventId)
  })

  it.each(['structured', 'binary'] as const)('made by the public SDK in %s mode is accepted as it is', (mode) => {
    const event: CloudEvent<unknown> = new SdkEvent({ ...EVENT, partitionkey: 'bank/anna', aggregateversion: 5 })
    const message = Kafka[mode](event)
    const body = typeof message.value === 'string' ? message.value : JSON.stringify(message.value)
    // As a Kafka client sends them: attributes that are not set become empty headers.
    const headers = Object.fromEntries(
      Object.entries(message.headers).map(([name, value]) => [name, value === undefined ? '' : String(value)]),
    )
    const decoded = decode({ value: body, headers, key: String(message.key) })
    expect(reasonOf(decoded)).toBe('ACCEPTED')
    expect(decoded.kind === 'command' && decoded.command.aggregateVersion).toBe(5n)
  })

  it('[IDN-4] is not changed by order, white space, or anything outside the contract', () => {
    const other = `{ "data" : {"currency":"EUR","note":"x", "amount":"9007199254740993"}, "traceparent":"00-ab",\n"time":"2026-01-01T00:00:00Z", ${JSON.stringify({ ...EVENT, data: undefined }).slice(1)}`
    const [left, right] = [decode({ value: other }), decode({ value: JSON.stringify(EVENT) })]
    if (left.kind !== 'command' || right.kind !== 'command') throw new Error('refused')
    expect(left.command.digest).toBe(right.command.digest)
  })

  it.each(['application/cloudevents+json; charset=utf-8', 'Application/CloudEvents+JSON', ' application/cloudevents+json ;charset=UTF-8'])(
    'may spell its content type %s',
    (contentType) => {
      expect(reasonOf(decode({ value: JSON.stringify(EVENT), headers: { 'Content-Type': contentType } }))).toBe('ACCEPTED')
    },
  )

  it('may carry headers and attributes that are not ours, whatever their bytes', () => {
    const headers = { ...STRUCTURED, traceparent: Uint8Array.of(0xff), ce_unknown: 'x' }
    expect(reasonOf(decode({ value: JSON.stringify(EVENT), headers }))).toBe('ACCEPTED')
  })

  it('may come without a key, or with ids that JSON escapes', () => {
    expect(reasonOf(decode({ value: JSON.stringify(EVENT), key: null }))).toBe('ACCEPTED')
    expect(reasonOf(decode({ value: JSON.stringify(EVENT).replace('"pay-1"', '"p\\u0061y-1"') }))).toBe('ACCEPTED')
    expect(reasonOf(decodeEvent({ operationid: 'Zahlung €1 💶' }))).toBe('ACCEPTED')
  })

  it('is what encodeCommand makes', () => {
    const { key, value, headers } = encodeCommand({
      type: 'deposit.v1',
      tenantId: 'bank',
      businessKey: 'anna',
      eventId: EVENT_ID,
      operationId: 'o',
      aggregateVersion: 9n,
      source: '/t',
      data: { amount: '1', currency: 'EUR' },
    })
    expect(reasonOf(decode({ key, value, headers }))).toBe('ACCEPTED')
  })
})

const deep = `${'['.repeat(40)}${']'.repeat(40)}`
const CASES: readonly [string, RecordSpec, string][] = [
  ['no value', { value: null }, 'EMPTY_VALUE'],
  ['an empty value', { value: '' }, 'EMPTY_VALUE'],
  ['too many bytes', { value: ' '.repeat(65 * 1024) }, 'TOO_LARGE'],
  ['invalid UTF-8', { value: Uint8Array.of(0x7b, 0xff, 0x7d) }, 'NOT_UTF8'],
  ['no JSON', { value: '{"specversion":' }, 'NOT_JSON'],
  ['JSON too deep', { value: deep }, 'TOO_DEEP'],
  ['a byte order mark', { value: `\ufeff${JSON.stringify(EVENT)}` }, 'NOT_JSON'],
  ['no content type', { value: '{}', headers: {} }, 'NOT_CLOUDEVENT'],
  ['an array', { value: '[]' }, 'ENVELOPE_INVALID'],
  ['a member twice', { value: JSON.stringify(EVENT).replace('{', '{"id":"x",') }, 'DUPLICATE_MEMBER'],
  ['a member twice in data', { value: JSON.stringify(EVENT).replace('"amount"', '"amount":"1","amount"') }, 'DUPLICATE_MEMBER'],
  [
    'a member twice under an escaped name',
    { value: JSON.stringify(EVENT).replace('"amount"', '"amo\\u0075nt":"1","amount"') },
    'DUPLICATE_MEMBER',
  ],
  ['a colon in a string, and no duplicate', { value: JSON.stringify({ ...EVENT, source: 'a:b:"c\\":d' }) }, 'ACCEPTED'],
  ['__proto__ twice', { value: JSON.stringify(EVENT).replace('{', '{"__proto__":1,"__proto__":2,') }, 'DUPLICATE_MEMBER'],
  [
    'an envelope in __proto__ alone',
    { value: JSON.stringify({}).replace('{', `{"__proto__":${JSON.stringify(EVENT)}`) },
    'ENVELOPE_INVALID',
  ],
  [
    'data in __proto__ alone',
    { value: JSON.stringify({ ...EVENT, data: {} }).replace('{}', '{"__proto__":{"amount":"1","currency":"EUR"}}') },
    'DATA_INVALID',
  ],
  ['an empty key', { value: JSON.stringify(EVENT), key: '' }, 'KEY_MISMATCH'],
  ['another key', { value: JSON.stringify(EVENT), key: 'bank/bob' }, 'KEY_MISMATCH'],
  ['a longer key', { value: JSON.stringify(EVENT), key: 'bank/anna2' }, 'KEY_MISMATCH'],
  ['a shorter key', { value: JSON.stringify(EVENT), key: 'bank/ann' }, 'KEY_MISMATCH'],
  ['another partition', { value: JSON.stringify(EVENT), partition: 4 }, 'MISROUTED'],
  ['data that is no JSON in binary mode', { value: 'x', headers: { ce_specversion: '1.0' } }, 'NOT_JSON'],
  [
    'a binary event of another content type',
    { value: '{}', headers: { ce_specversion: '1.0', 'content-type': 'text/plain' } },
    'DATA_NOT_JSON',
  ],
  ['a header that is not UTF-8', { value: '{}', headers: { ce_specversion: Uint8Array.of(0xff) } }, 'NOT_UTF8'],
  ['a header twice', { value: '{}', headers: { ce_id: 'a', CE_ID: 'b' } }, 'DUPLICATE_HEADER'],
]

const CHANGES: readonly [string, Record<string, unknown>, string][] = [
  ['another specversion', { specversion: '0.3' }, 'ENVELOPE_INVALID'],
  ['no id', { id: undefined }, 'ENVELOPE_INVALID'],
  ['a number as id', { id: 5 }, 'ENVELOPE_INVALID'],
  ['no source', { source: '' }, 'ENVELOPE_INVALID'],
  ['an unknown type', { type: 'onceledger.gift.v1' }, 'UNKNOWN_CONTRACT'],
  ['an unknown version', { type: 'onceledger.deposit.v9' }, 'UNKNOWN_CONTRACT'],
  ['another spelling of the type', { type: 'onceledger.deposit.v01' }, 'UNKNOWN_CONTRACT'],
  ['a tenant with a slash', { tenantid: 'a/b' }, 'TENANT_HAS_SLASH'],
  ['a key of the ledger itself', { businesskey: '@external/3' }, 'KEY_RESERVED'],
  ['a NUL in an id', { operationid: 'a\u0000b' }, 'ID_NUL'],
  ['half a surrogate pair', { operationid: 'a\ud800' }, 'ID_NOT_UNICODE'],
  ['an id that is too long', { operationid: 'x'.repeat(129) }, 'ID_TOO_LONG'],
  ['an id that is too long in bytes only', { operationid: '€'.repeat(43) }, 'ID_TOO_LONG'],
  ['no operation id', { operationid: undefined }, 'OPERATION_ID_MISSING'],
  ['an operation id where the event judges', { type: 'onceledger.credit.v1' }, 'OPERATION_ID_NOT_ALLOWED'],
  ['an opaque id where the event judges', { type: 'onceledger.credit.v1', operationid: undefined, id: 'e-1' }, 'EVENT_ID_KIND'],
  [
    'a UUID in capitals where the event judges',
    { type: 'onceledger.credit.v1', operationid: undefined, id: EVENT_ID.replace('a', 'A') },
    'EVENT_ID_KIND',
  ],
  ['another partition key', { partitionkey: 'bank/bob' }, 'PARTITION_KEY_MISMATCH'],
  ['an aggregate version of zero', { aggregateversion: 0 }, 'ENVELOPE_INVALID'],
  ['an aggregate version with a fraction', { aggregateversion: 1.5 }, 'ENVELOPE_INVALID'],
  ['an aggregate version beyond 64 bits', { aggregateversion: '9223372036854775808' }, 'ENVELOPE_INVALID'],
  ['an empty operation id', { operationid: '' }, 'ENVELOPE_INVALID'],
  ['null as operation id', { operationid: null }, 'ENVELOPE_INVALID'],
  ['a tenant that is too long', { tenantid: 'x'.repeat(65) }, 'ID_TOO_LONG'],
  ['an empty partition key', { partitionkey: '' }, 'ENVELOPE_INVALID'],
  ['another letter case of an attribute', { operationid: undefined, operationId: 'pay-1' }, 'OPERATION_ID_MISSING'],
  ['a list as data', { data: ['1', 'EUR'] }, 'DATA_INVALID'],
  ['text as data', { data: '{"amount":"1","currency":"EUR"}' }, 'DATA_INVALID'],
  ['a NUL in a reference', { type: 'onceledger.deposit.v2', data: { ...EVENT.data, reference: 'a\u0000' } }, 'DATA_INVALID'],
  ['half a surrogate pair in a reference', { type: 'onceledger.deposit.v2', data: { ...EVENT.data, reference: '\udc00' } }, 'DATA_INVALID'],
  ['no data', { data: undefined }, 'DATA_INVALID'],
  ['data as base64', { data: undefined, data_base64: 'e30=' }, 'DATA_NOT_JSON'],
  ['data of another content type', { datacontenttype: 'text/xml' }, 'DATA_NOT_JSON'],
  ['an amount as a number', { data: { amount: 100, currency: 'EUR' } }, 'DATA_INVALID'],
  ['an amount with a sign', { data: { amount: '-1', currency: 'EUR' } }, 'DATA_INVALID'],
  ['an amount with a fraction', { data: { amount: '1.0', currency: 'EUR' } }, 'DATA_INVALID'],
  ['an amount with a leading zero', { data: { amount: '01', currency: 'EUR' } }, 'DATA_INVALID'],
  ['an amount of zero', { data: { amount: '0', currency: 'EUR' } }, 'DATA_INVALID'],
  ['an amount beyond 64 bits', { data: { amount: '9223372036854775808', currency: 'EUR' } }, 'DATA_INVALID'],
  ['a currency in small letters', { data: { amount: '1', currency: 'eur' } }, 'DATA_INVALID'],
]

describe('a bad message is refused with its reason and keeps its bytes', () => {
  it.each(CASES)('[ADJ-10] %s', (_what, spec, reason) => {
    const decoded = decode(spec)
    expect(reasonOf(decoded)).toBe(reason)
    if (decoded.kind === 'refused') expect(decoded.parked.record).toEqual(record(spec))
  })

  it.each(CHANGES)('[ADJ-10] %s', (_what, changes, reason) => {
    expect(reasonOf(decodeEvent(changes))).toBe(reason)
  })

  it('does no harm by the names of its members', () => {
    const value = JSON.stringify(EVENT).replace('{', '{"__proto__":{"amount":"1"},"constructor":"x",')
    const decoded = decode({ value })
    expect(decoded.kind === 'command' && decoded.command.intent['amount']).toBe('9007199254740993')
  })
})

describe('whatever the bytes', () => {
  const header = fc.constantFrom('content-type', 'ce_specversion', 'ce_id', 'ce_type', 'x')

  it('[ADJ-10] random bytes are refused and never throw', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.dictionary(header, fc.uint8Array({ maxLength: 40 })),
        fc.boolean(),
        (value, headers, structured) => {
          const decoded = decode({ value, headers: structured ? STRUCTURED : headers, key: null })
          expect(decoded.kind).toBe('refused')
        },
      ),
      { numRuns: 3_000 },
    )
  })

  it('[IDN-5] a message with changed bytes is refused, or is still worth exactly what its text says', () => {
    const original = Buffer.from(JSON.stringify(EVENT))
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(original.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }), (changes) => {
        const value = Buffer.from(original)
        for (const [at, byte] of changes) value[at] = byte
        const decoded = decode({ value, key: null })
        if (decoded.kind === 'refused') return
        const { data } = JSON.parse(value.toString('utf8')) as { data: { amount: string; currency: string } }
        expect(decoded.command.intent).toEqual({ amount: data.amount, currency: data.currency })
      }),
      { numRuns: 5_000 },
    )
  })
})
