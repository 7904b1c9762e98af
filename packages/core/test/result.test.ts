import { describe, expect, it } from 'vitest'
import { encodeResult, gapsTopicOf, resultsTopicOf, usToIso } from '../src/result.ts'
import type { Judgement } from '../src/verdict.ts'
import { command, NOW_US } from './builders.ts'

const APPLIED: Judgement = {
  verdict: 'APPLIED',
  reason: null,
  first: {
    verdict: 'APPLIED',
    reason: null,
    currency: 'CZK',
    amountMinor: -9007199254740993n,
    accountVersion: 7n,
    balanceAfterMinor: 9007199254740993n,
    committedAtUs: NOW_US + 42n,
  },
}

function valueOf(...given: Parameters<typeof encodeResult>): Record<string, unknown> {
  return JSON.parse(encodeResult(...given).value) as Record<string, unknown>
}

describe('a published result', () => {
  it('[IDN-5] [IDN-7] names the message, its command and the first result, money as strings', () => {
    const of = command({
      type: 'entry',
      aggregateVersion: 7n,
      offset: 41n,
      bucket: 3,
      data: { amount: '-9007199254740993', currency: 'CZK' },
    })
    expect(encodeResult({ record: of.record, command: of, judgement: APPLIED }).key).toBe('bank/alice')
    expect(valueOf({ record: of.record, command: of, judgement: APPLIED })).toEqual({
      specversion: '1.0',
      id: '3-41',
      source: '/onceledger/commands',
      type: 'onceledger.result.v1',
      tenantid: 'bank',
      businesskey: 'alice',
      data: {
        verdict: 'APPLIED',
        reason: null,
        command: {
          type: 'entry.v1',
          id: 'event-1',
          operationid: 'operation-1',
          aggregateversion: '7',
          topic: 'commands',
          partition: 3,
          offset: '41',
        },
        first: {
          verdict: 'APPLIED',
          reason: null,
          currency: 'CZK',
          amount: '-9007199254740993',
          balanceAfter: '9007199254740993',
          accountVersion: '7',
          committedAt: '2023-11-14T22:13:20.000042Z',
        },
      },
    })
  })

  it('carries the first refusal to a late duplicate, and nothing where there is no result', () => {
    const of = command({ offset: 5n })
    const first = {
      verdict: 'REJECTED',
      reason: 'INSUFFICIENT_FUNDS',
      currency: null,
      amountMinor: 0n,
      accountVersion: 0n,
      balanceAfterMinor: 0n,
      committedAtUs: NOW_US,
    } as const
    expect(
      valueOf({ record: of.record, command: of, judgement: { verdict: 'DUPLICATE', reason: 'INSUFFICIENT_FUNDS', first } }),
    ).toMatchObject({
      data: {
        verdict: 'DUPLICATE',
        reason: 'INSUFFICIENT_FUNDS',
        first: { verdict: 'REJECTED', reason: 'INSUFFICIENT_FUNDS', currency: null },
      },
    })
    expect(
      valueOf({ record: of.record, command: of, judgement: { verdict: 'CONFLICT', reason: 'OTHER_INTENT', first: null } }),
    ).toMatchObject({
      data: { verdict: 'CONFLICT', first: null },
    })
  })

  it('has an id of its own while the command waits', () => {
    const of = command({ type: 'entry', aggregateVersion: 9n, offset: 5n, data: { amount: '1', currency: 'CZK' } })
    const judgement = { verdict: 'DEFERRED', reason: 'AHEAD_OF_SEQUENCE', first: null } as const
    expect(valueOf({ record: of.record, command: of, judgement })['id']).toBe('0-5-deferred')
  })

  it('of a message that is no command keeps its key and names nobody', () => {
    const record = { ...command().record, key: Buffer.from([0xff]) }
    const judgement = { verdict: 'PARKED', reason: 'NOT_JSON', first: null } as const
    expect(encodeResult({ record, command: null, judgement }).key).toEqual(Buffer.from([0xff]))
    const value = valueOf({ record, command: null, judgement })
    expect(value).not.toHaveProperty('tenantid')
    expect(value).toMatchObject({ data: { verdict: 'PARKED', reason: 'NOT_JSON', command: { type: null, id: null, operationid: null } } })
  })

  it.each(['a"b\\c', 'tab\tline\nnul-free', 'čeněk 🦄', '\u2028'])('survives ids and keys such as %j', (text) => {
    const of = command({ tenantId: text, businessKey: text, eventId: text, operationId: text })
    for (let i = 0; i < 2; i++)
      expect(valueOf({ record: of.record, command: of, judgement: APPLIED })).toMatchObject({
        tenantid: text,
        businesskey: text,
        data: { command: { id: text, operationid: text } },
      })
  })

  it('goes to a topic beside that of the commands', () => {
    expect([resultsTopicOf('ledger.commands'), gapsTopicOf('ledger.commands'), resultsTopicOf('other')]).toEqual([
      'ledger.results',
      'ledger.gaps',
      'other.results',
    ])
  })

  it('tells times to the microsecond', () => {
    expect([usToIso(0n), usToIso(1_700_000_000_999_999n), usToIso(1_700_000_001_000_000n)]).toEqual([
      '1970-01-01T00:00:00.000000Z',
      '2023-11-14T22:13:20.999999Z',
      '2023-11-14T22:13:21.000000Z',
    ])
  })
})
