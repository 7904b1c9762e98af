import { describe, expect, it } from 'vitest'
import { type AnsweredCommand, type AwaitedCommand, AwaitedResults, requireDone } from '../src/awaited-results.ts'
import { CommandFailed, EXIT } from '../src/exit.ts'

const KEY = 'acme/alice'
const command = (line: number, more: Partial<AwaitedCommand> = {}): AwaitedCommand => ({
  line,
  key: KEY,
  type: 'entry.v1',
  eventId: `event-${line}`,
  operationId: `operation-${line}`,
  ...more,
})

interface Told {
  readonly of: AwaitedCommand
  readonly verdict: string
  readonly offset: number
  readonly reason?: string
  readonly first?: { readonly verdict: string; readonly reason?: string; readonly balance: string }
}

/** A message of the results topic as the shard publishes it. */
function result({ of, verdict, offset, reason, first }: Told): { key: string; value: string } {
  const data = {
    verdict,
    reason: reason ?? null,
    command: {
      type: of.type,
      id: of.eventId,
      operationid: of.operationId,
      aggregateversion: null,
      topic: 'ledger.commands',
      partition: 3,
      offset: `${offset}`,
    },
    first:
      first === undefined
        ? null
        : {
            verdict: first.verdict,
            reason: first.reason ?? null,
            currency: 'EUR',
            amount: '1',
            balanceAfter: first.balance,
            accountVersion: '1',
            committedAt: '2026-12-01T10:00:00.000001Z',
          },
  }
  const event = {
    specversion: '1.0',
    id: `3-${offset}${verdict === 'DEFERRED' ? '-deferred' : ''}`,
    source: '/onceledger/ledger.commands',
    type: 'onceledger.result.v1',
    data,
  }
  return { key: of.key, value: JSON.stringify(event) }
}

function awaiting(...commands: readonly AwaitedCommand[]): { awaited: AwaitedResults; shown: AnsweredCommand[] } {
  const shown: AnsweredCommand[] = []
  const awaited = new AwaitedResults((answered) => shown.push(answered))
  for (const each of commands) awaited.add(each)
  return { awaited, shown }
}

const verdictsOf = (awaited: AwaitedResults): (string | null)[] => awaited.answers().map(({ verdict }) => verdict)
const applied = (of: AwaitedCommand, offset: number, balance = '1'): { key: string; value: string } =>
  result({ of, verdict: 'APPLIED', offset, first: { verdict: 'APPLIED', balance } })
const deferred = (of: AwaitedCommand, offset: number): { key: string; value: string } =>
  result({ of, verdict: 'DEFERRED', offset, reason: 'AHEAD_OF_SEQUENCE' })

describe('results of a submission', () => {
  it('[IDN-7] are shown as they come, and listed by line with what the first commit stored', () => {
    const [one, two] = [command(1), command(2)]
    const { awaited, shown } = awaiting(one, two)
    awaited.take(
      result({ of: two, verdict: 'DUPLICATE', offset: 8, first: { verdict: 'REJECTED', reason: 'INSUFFICIENT_FUNDS', balance: '0' } }),
    )
    expect([awaited.isSettled, verdictsOf(awaited)]).toEqual([false, [null, 'DUPLICATE']])
    awaited.take(applied(one, 7, '25'))
    expect(awaited.isSettled).toBe(true)
    expect(shown.map(({ line }) => line)).toEqual([2, 1])
    expect(awaited.answers()).toMatchObject([
      { line: 1, verdict: 'APPLIED', reason: null, firstVerdict: 'APPLIED', balanceAfter: '25' },
      { line: 2, verdict: 'DUPLICATE', reason: 'INSUFFICIENT_FUNDS', firstVerdict: 'REJECTED' },
    ])
  })

  it.each<[string, Partial<AwaitedCommand>]>([
    ['business key', { key: 'acme/bob' }],
    ['tenant', { key: 'other/alice' }],
    ['event', { eventId: 'event-9' }],
    ['operation', { operationId: 'operation-9' }],
    ['contract', { type: 'entry.v2' }],
    ['operation, judged by event', { operationId: null }],
  ])('[IDN-1] of another %s are those of other commands', (_what, other) => {
    const { awaited, shown } = awaiting(command(1))
    awaited.take(applied(command(1, other), 7))
    expect([shown, verdictsOf(awaited)]).toEqual([[], [null]])
  })

  it('told twice are shown once', () => {
    const { awaited, shown } = awaiting(command(1), command(2))
    for (const message of [deferred(command(1), 7), deferred(command(1), 7), applied(command(1), 7), applied(command(1), 7)])
      awaited.take(message)
    awaited.take(deferred(command(1), 7))
    expect(shown.map(({ verdict }) => verdict)).toEqual(['DEFERRED', 'APPLIED'])
    expect(verdictsOf(awaited)).toEqual(['APPLIED', null])
  })

  it('[ORD-2] of a command that waits count as its answer only while nothing better came', () => {
    const { awaited } = awaiting(command(1))
    awaited.take(deferred(command(1), 7))
    expect([awaited.isSettled, verdictsOf(awaited)]).toEqual([false, ['DEFERRED']])
    awaited.take(applied(command(1), 7))
    expect([awaited.isSettled, verdictsOf(awaited)]).toEqual([true, ['APPLIED']])
  })

  it('[IDN-6] of one identity on two lines are told apart by their places', () => {
    const { awaited } = awaiting(command(1), command(2, { eventId: 'event-1', operationId: 'operation-1' }))
    for (const offset of [7, 9]) awaited.take(deferred(command(1), offset))
    awaited.take(applied(command(1), 7))
    expect([awaited.isSettled, verdictsOf(awaited)]).toEqual([false, ['APPLIED', 'DEFERRED']])
    awaited.take(result({ of: command(1), verdict: 'CONFLICT', offset: 9, reason: 'OTHER_INTENT' }))
    expect([awaited.isSettled, verdictsOf(awaited)]).toEqual([true, ['APPLIED', 'CONFLICT']])
  })

  it('[ORD-2] of a command that waited already count in the end although they are told for its first place', () => {
    const { awaited, shown } = awaiting(command(1))
    awaited.take(deferred(command(1), 20))
    awaited.take(applied(command(1), 5))
    expect([awaited.isSettled, verdictsOf(awaited)]).toEqual([false, ['DEFERRED']])
    awaited.expire()
    expect([awaited.isSettled, verdictsOf(awaited), shown.length]).toEqual([true, ['APPLIED'], 2])
  })

  it.each([
    '',
    'no json',
    '{}',
    '[1]',
    JSON.stringify({ data: { verdict: 'PARKED', reason: 'NOT_JSON', command: { type: null }, first: null } }),
  ])('leave out what is none: %s', (value) => {
    const { awaited } = awaiting(command(1))
    awaited.take({ key: KEY, value })
    awaited.take({ key: null, value })
    expect(verdictsOf(awaited)).toEqual([null])
  })

  it.each<[readonly (string | null)[], number | null]>([
    [['APPLIED', 'DUPLICATE'], null],
    [['APPLIED', 'CONFLICT'], EXIT.notDone],
    [['DEFERRED'], EXIT.notDone],
    [['STALE'], EXIT.notDone],
    [['PARKED'], EXIT.notDone],
    [['APPLIED', null], EXIT.unreachable],
    [['REJECTED', null], EXIT.unreachable],
  ])('%j end the command with code %s', (verdicts, exitCode) => {
    const answers = verdicts.map((verdict, i) => ({ ...command(i), verdict, reason: null, firstVerdict: null, balanceAfter: null }))
    let error: unknown = null
    try {
      requireDone(answers, 1)
    } catch (thrown) {
      error = thrown
    }
    expect(error instanceof CommandFailed ? error.exitCode : error).toBe(exitCode)
  })
})
