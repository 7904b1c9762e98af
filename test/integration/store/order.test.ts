import { sweepPartition } from '@onceledger/ledger-store'
import { bucketOfKey } from '@onceledger/shard-map'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BUCKET_COUNT, type CommandSpec, createStoreLedger, nowUs, type StoreLedger } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { judgementsOf, verdictsOf } from './outcomes.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

/** Kept commands are decoded again when their turn comes, so their keys must belong to the partition that they came in. */
const [KEY = ''] = Array.from({ length: 100 }, (_, i) => `account-${i}`).filter((key) => bucketOfKey(`bank/${key}`, BUCKET_COUNT) === 0)

const open = (key = KEY): CommandSpec => ({ type: 'open', key, operationId: 'open', data: { currency: 'CZK', overdraftLimit: '50' } })
const entry = (version: number, amount = '1', more: CommandSpec = {}): CommandSpec => ({
  type: 'entry',
  key: KEY,
  operationId: `entry-${version}`,
  aggregateVersion: BigInt(version),
  data: { amount, currency: 'CZK' },
  ...more,
})

async function judge(specs: readonly CommandSpec[], setup: Parameters<StoreLedger['adjudicator']>[0] = {}): Promise<string[]> {
  return verdictsOf(await ledger.adjudicator(setup).judge(ledger.batch(specs)))
}

async function head(key = KEY): Promise<string> {
  return ledger.value(`SELECT version FROM sequence_head WHERE business_key = '${key}'`)
}

const waiting = (): Promise<string> => ledger.value('SELECT COUNT(*) FROM deferred')
const balance = (): Promise<string> => ledger.value(`SELECT balance FROM account WHERE business_key = '${KEY}'`)

async function counts(): Promise<string> {
  const [row = []] = await ledger.rows(`SELECT SUM(next_offset), SUM(applied_count), SUM(duplicate_count), SUM(conflict_count),
    SUM(rejected_count), SUM(parked_count), SUM(deferred_count), SUM(stale_count) FROM applied_offset`)
  return row.map(String).join(' ')
}

describe('a contract with a sequence', () => {
  it('[ORD-1] [ORD-2] at version 10, receiving 12, 11, 11, 13 ends at 13 with each effect once, one message at a time', async () => {
    await judge([open(), ...Array.from({ length: 10 }, (_, i) => entry(i + 1))])
    const again = entry(11)
    expect(await judge([entry(12)])).toEqual(['DEFERRED'])
    expect(await waiting()).toBe('1')
    expect(await judge([again])).toEqual(['APPLIED'])
    expect(await judge([again])).toEqual(['DUPLICATE'])
    expect(await judge([entry(13)])).toEqual(['APPLIED'])
    expect([await head(), await balance(), await waiting()]).toEqual(['13', '13', '0'])
    expect(await counts()).toBe('15 14 1 0 0 0 0 0')
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ORD-2] the same in one batch needs no row that waits', async () => {
    await judge([open(), ...Array.from({ length: 10 }, (_, i) => entry(i + 1))])
    expect(await judge([entry(12), entry(11), entry(11), entry(13)])).toEqual(['APPLIED', 'APPLIED', 'DUPLICATE', 'APPLIED'])
    expect([await head(), await balance(), await waiting()]).toEqual(['13', '13', '0'])
  })

  it('[ORD-2] a redelivery of what waits keeps one row, and gets the first result after its turn', async () => {
    const ahead = entry(2, '7', { eventId: 'event-2' })
    expect(await judge([open(), ahead])).toEqual(['APPLIED', 'DEFERRED'])
    expect(await judge([ahead])).toEqual(['DEFERRED'])
    expect(await waiting()).toBe('1')
    expect(await counts()).toBe('3 1 1 0 0 0 1 0')
    expect(await judge([entry(1)])).toEqual(['APPLIED'])
    const outcome = await ledger.adjudicator().judge(ledger.batch([ahead]))
    expect(judgementsOf(outcome)[0]).toMatchObject({ verdict: 'DUPLICATE', first: { accountVersion: 2n, balanceAfterMinor: 8n } })
    expect(await counts()).toBe('5 3 2 0 0 0 0 0')
  })

  it('[ORD-1] of two operations that claim one version the first applied stands, the other is CONFLICT with an audit row', async () => {
    const rival = entry(2, '100', { operationId: 'rival' })
    expect(await judge([open(), entry(2), rival])).toEqual(['APPLIED', 'DEFERRED', 'DEFERRED'])
    expect(await judge([entry(1)])).toEqual(['APPLIED'])
    expect([await head(), await balance(), await waiting()]).toEqual(['2', '2', '0'])
    expect(await judge([rival])).toEqual(['CONFLICT'])
    expect(await ledger.value('SELECT COUNT(*) FROM conflict_audit')).toBe('2')
    expect(await ledger.value(`SELECT first_operation FROM conflict_audit LIMIT 1`)).toBe('entry/entry-2')
    expect(await ledger.value(`SELECT COUNT(*) FROM operation WHERE operation_id LIKE '%rival'`)).toBe('0')
  })

  it('[ORD-2] a run longer than one transaction takes is continued by sweeps', async () => {
    const last = 2_500
    await judge([open()])
    for (let at = last; at > 1; at -= 500) {
      const versions = Array.from({ length: 500 }, (_, i) => at - i).filter((version) => version > 1)
      await judge(versions.map((version) => entry(version)))
    }
    expect(await waiting()).toBe(String(last - 1))
    const outcome = await ledger.adjudicator().judge(ledger.batch([entry(1)]))
    expect(outcome).toMatchObject({ kind: 'committed', more: true })
    expect(await head()).toBe('1001')
    const more: boolean[] = []
    for (let i = 0; i < 3; i++) {
      const swept = await sweepPartition(ledger.context(), { topic: ledger.topic, partition: 0 })
      more.push(swept.kind === 'swept' && swept.more)
    }
    expect(more).toEqual([true, false, false])
    expect([await head(), await balance(), await waiting()]).toEqual([String(last), String(last), '0'])
    expect(await counts()).toBe(`${last + 1} ${last + 1} 0 0 0 0 0 0`)
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-5] [ORD-2] a retryable predecessor is parked and its version stays open for another', async () => {
    expect(await judge([entry(2), entry(1)])).toEqual(['DEFERRED', 'PARKED'])
    expect([await head(), await waiting()]).toEqual(['0', '1'])
    expect(await judge([open(), entry(1)])).toEqual(['APPLIED', 'APPLIED'])
    expect([await head(), await balance(), await waiting()]).toEqual(['2', '2', '0'])
  })

  it('[ORD-3] what waited longer than its contract allows is parked with its bytes by a sweep', async () => {
    let clockUs = nowUs()
    const setup = { nowUs: () => clockUs }
    await judge([open(), entry(3), entry(4)], setup)
    expect(await sweepPartition(ledger.context(setup), { topic: ledger.topic, partition: 0 })).toMatchObject({ parked: 0 })
    clockUs += 73n * 3_600_000_000n
    expect(await sweepPartition(ledger.context(setup), { topic: ledger.topic, partition: 0 })).toMatchObject({ parked: 2, more: false })
    expect(await waiting()).toBe('0')
    expect(await ledger.value(`SELECT GROUP_CONCAT(DISTINCT reason) FROM parked`)).toBe('GAP_NOT_CLOSED')
    expect(await counts()).toBe('3 1 0 0 0 2 0 0')
  })
})

describe('a contract with a snapshot', () => {
  const limit = (version: number, overdraftLimit: string): CommandSpec => ({
    type: 'limit',
    key: KEY,
    operationId: `limit-${version}`,
    aggregateVersion: BigInt(version),
    data: { currency: 'CZK', overdraftLimit },
  })

  it('[ORD-4] keeps the highest version; older ones are STALE and leave no effect', async () => {
    await judge([open()])
    expect(await judge([limit(5, '500')])).toEqual(['APPLIED'])
    expect(await judge([limit(3, '300'), limit(5, '500'), limit(7, '700'), limit(6, '600')])).toEqual([
      'STALE',
      'DUPLICATE',
      'APPLIED',
      'STALE',
    ])
    expect(await ledger.value('SELECT CONCAT(overdraft_limit, "/", limit_version, "/", version) FROM account')).toBe('700/7/0')
    expect(await counts()).toBe('6 3 1 0 0 0 0 2')
    expect(await judge([{ type: 'withdraw', key: KEY, data: { amount: '700', currency: 'CZK' } }])).toEqual(['APPLIED'])
    expect(await ledgerViolations(ledger)).toEqual([])
  })
})
