import { recordDigest, type SourceRecord } from '@onceledger/core'
import type { BatchItem } from '@onceledger/ledger-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandSpec, createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { judgementsOf, verdictsOf } from './outcomes.ts'
import { isWritePacket, watchedDatabase } from './watched-database.ts'

const TIMEOUT_MS = 30_000
let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

const PARKED = 'SELECT source_offset, reason, record_key, record_value, retryable, state FROM parked ORDER BY source_offset'

interface Tries {
  attempts: number
  splits: number
  poisons: string[]
}

function counting(): { tries: Tries; observer: { onRetry(): void; onSplit(): void; onPoison(item: BatchItem, code: string): void } } {
  const tries: Tries = { attempts: 0, splits: 0, poisons: [] }
  return {
    tries,
    observer: { onRetry: () => tries.attempts++, onSplit: () => tries.splits++, onPoison: (_item, code) => tries.poisons.push(code) },
  }
}

describe('a message that cannot be judged', () => {
  it("[ADJ-7] an account whose stored names are another's is never posted to: its message is parked, 999 neighbours are applied", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { tries, observer } = counting()
    const adjudicator = ledger.adjudicator({ observer })
    await adjudicator.judge(ledger.batch([{ key: 'victim' }]))
    await ledger.rows(`UPDATE account SET business_key = 'somebody else' WHERE business_key = 'victim'`)
    const specs: CommandSpec[] = Array.from({ length: 1_000 }, (_, i) => ({
      key: i === 500 ? 'victim' : `key-${i % 100}`,
      value: Buffer.from(`value ${i}`),
    }))
    const outcome = await adjudicator.judge(ledger.batch(specs))
    expect(outcome).toMatchObject({ kind: 'committed', nextOffset: 1_001n })
    const verdicts = verdictsOf(outcome)
    expect(verdicts).toHaveLength(1_000)
    expect(verdicts.flatMap((verdict, i) => (verdict === 'APPLIED' ? [] : [[i, verdict]]))).toEqual([[500, 'PARKED']])
    expect(await ledger.rows(PARKED)).toEqual([
      ['501', Buffer.from('ACCOUNT_CORRUPT'), Buffer.from('bank/victim'), Buffer.from('value 500'), 0, 'PARKED'],
    ])
    expect(await ledger.rows('SELECT next_offset, applied_count, parked_count FROM applied_offset')).toEqual([['1001', '1000', '1']])
    // Halving finds one of 1,000 in nine or ten steps; where it stands decides which.
    expect(tries).toEqual({ attempts: 0, splits: 9, poisons: ['ACCOUNT_CORRUPT'] })
    await ledger.rows(`UPDATE account SET business_key = 'victim' WHERE business_key = 'somebody else'`)
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it.each([
    ['a value that a CHECK refuses', `ALTER TABLE operation ADD CONSTRAINT no_thirteen CHECK (amount <> 1300)`, 'SQL_3819'],
    ["a value out of the column's range", `ALTER TABLE operation MODIFY amount SMALLINT NOT NULL`, 'SQL_1264'],
  ])('[ADJ-7] %s is parked with its reason, its neighbours are applied', async (_case, ddl, reason) => {
    await ledger.rows(ddl)
    const { tries, observer } = counting()
    const amounts = ['1', '2', reason === 'SQL_1264' ? '40000' : '1300', '4', '5']
    const specs = amounts.map((amount) => ({ key: 'alice', data: { amount, currency: 'CZK' } }))
    const outcome = await ledger.adjudicator({ observer }).judge(ledger.batch(specs))
    expect(verdictsOf(outcome)).toEqual(['APPLIED', 'APPLIED', 'PARKED', 'APPLIED', 'APPLIED'])
    expect(await ledger.rows('SELECT source_offset, reason FROM parked')).toEqual([['2', Buffer.from(reason)]])
    expect(await ledger.value('SELECT next_offset FROM applied_offset')).toBe('5')
    expect(tries.poisons).toEqual([reason])
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-7] two bad messages in a batch are both found', async () => {
    await ledger.rows('ALTER TABLE operation ADD CONSTRAINT no_thirteen CHECK (amount <> 1300)')
    const specs = Array.from({ length: 20 }, (_, i) => ({
      key: 'alice',
      data: { amount: i === 0 || i === 19 ? '1300' : '10', currency: 'CZK' },
    }))
    const outcome = await ledger.adjudicator().judge(ledger.batch(specs))
    expect(verdictsOf(outcome).filter((verdict) => verdict === 'PARKED')).toHaveLength(2)
    expect(await ledger.rows('SELECT source_offset FROM parked ORDER BY source_offset')).toEqual([['0'], ['19']])
    expect(await ledger.rows('SELECT next_offset, applied_count, parked_count FROM applied_offset')).toEqual([['20', '18', '2']])
  })

  it('[ADJ-3] [ADJ-7] a half whose commit answer is lost ends at its position, and the rest is judged when it is given again', async () => {
    await ledger.rows('ALTER TABLE operation ADD CONSTRAINT no_thirteen CHECK (amount <> 1300)')
    const specs = ['1', '2', '1300', '4'].map((amount) => ({ key: 'alice', data: { amount, currency: 'CZK' } }))
    const batch = ledger.batch(specs)
    let writes = 0
    const database = watchedDatabase(ledger.database, {
      async beforePacket(sql, session) {
        // The whole batch is refused first; the second packet is that of its first half.
        if (!isWritePacket(sql) || ++writes !== 2) return
        await session.run(sql)
        throw Object.assign(new Error('the answer is lost'), { code: 'ECONNRESET' })
      },
    })
    const adjudicator = ledger.adjudicator({ database })
    expect(await adjudicator.judge(batch)).toMatchObject({ kind: 'position', nextOffset: 2n })
    const rest = { ...batch, items: batch.items.slice(2), source: { ...batch.source, expectedOffset: 2n } }
    expect(verdictsOf(await adjudicator.judge(rest))).toEqual(['PARKED', 'APPLIED'])
    expect(await ledger.rows('SELECT next_offset, applied_count, parked_count FROM applied_offset')).toEqual([['4', '3', '1']])
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it.each([
    ['verdict', `UPDATE operation SET verdict = 99`, 'VERDICT_UNKNOWN'],
    ['reason', `UPDATE operation SET reason = 99`, 'REASON_UNKNOWN'],
  ])('[ADJ-7] a stored row with an unknown %s parks the message that meets it and no other', async (_case, damage, reason) => {
    const operationId = uuidv7()
    await ledger.adjudicator().judge(ledger.batch([{ key: 'alice', operationId }]))
    await ledger.rows(damage)
    const outcome = await ledger.adjudicator().judge(ledger.batch([{ key: 'bob' }, { key: 'alice', operationId }, { key: 'bob' }]))
    expect(verdictsOf(outcome)).toEqual(['APPLIED', 'PARKED', 'APPLIED'])
    expect(await ledger.rows('SELECT source_offset, reason FROM parked')).toEqual([['2', Buffer.from(reason)]])
  })

  it('[ADJ-7] rows that contradict each other behind a unique key are parked after bounded tries', { timeout: TIMEOUT_MS }, async () => {
    const adjudicator = ledger.adjudicator()
    await adjudicator.judge(ledger.batch([{ key: 'alice' }]))
    // A posting of the version that the account has yet to reach.
    await ledger.rows(`INSERT INTO posting
      SELECT aggregate_id, currency, 2, 1, 1, 'x', 0, 1, 1, 1
      FROM account
      WHERE business_key = 'alice'`)
    const { tries, observer } = counting()
    const outcome = await ledger.adjudicator({ observer }).judge(ledger.batch([{ key: 'bob' }, { key: 'alice', type: 'credit' }]))
    expect(verdictsOf(outcome)).toEqual(['APPLIED', 'PARKED'])
    expect(tries).toEqual({ attempts: 12, splits: 1, poisons: ['UNIQUE_KEY_UNRESOLVED'] })
    expect(await ledger.value('SELECT next_offset FROM applied_offset')).toBe('3')
  })
})

function refused(record: Partial<SourceRecord>, more: { reason?: string; detail?: string; tenantId?: string | null } = {}): BatchItem {
  const position = { topic: '', partition: 0, offset: 0n }
  return {
    kind: 'refused',
    parked: {
      record: { position, key: null, value: null, headers: [], timestampMs: 0n, ...record },
      tenantId: more.tenantId ?? null,
      reason: more.reason ?? 'NOT_JSON',
      detail: more.detail ?? 'no JSON',
      retryable: false,
    },
  }
}

const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, i) => i)

describe('the parking table', () => {
  it('[ADJ-10] keeps key, value, headers and time exactly, whatever bytes they are', async () => {
    const records: Partial<SourceRecord>[] = [
      {
        key: EVERY_BYTE,
        value: EVERY_BYTE,
        headers: [
          ['ce_id', EVERY_BYTE],
          ['ce_id', new Uint8Array()],
          ['', Buffer.from('\u0000\'"\\;--')],
        ],
        timestampMs: -1n,
      },
      { key: null, value: null, headers: [], timestampMs: 0n },
      { key: new Uint8Array(), value: new Uint8Array(), headers: [['ключ 🔑', new Uint8Array([0xff])]], timestampMs: 2n ** 62n },
      { key: EVERY_BYTE.subarray(10, 20), value: Buffer.alloc(1_000_000, 0xa5), headers: [], timestampMs: 1n },
    ]
    const outcome = await ledger.adjudicator().judge(ledger.batch(records.map((record) => refused(record))))
    expect(verdictsOf(outcome)).toEqual(['PARKED', 'PARKED', 'PARKED', 'PARKED'])
    const rows = await ledger.rows(
      'SELECT record_key, record_value, headers, record_time, record_digest FROM parked ORDER BY source_offset',
    )
    const bufferOf = (bytes: Uint8Array | null | undefined): Buffer | null =>
      bytes === null || bytes === undefined ? null : Buffer.from(bytes)
    for (const [i, record] of records.entries()) {
      const [key, value, headers, time, digest] = rows[i] ?? []
      expect(key).toEqual(bufferOf(record.key))
      expect((value as Buffer | null)?.equals(bufferOf(record.value) ?? Buffer.alloc(0)) ?? null).toEqual(
        record.value === null ? null : true,
      )
      const restored = (JSON.parse((headers as Buffer).toString('utf8')) as [string, string][]).map(([name, text]) => [
        name,
        Buffer.from(text, 'base64'),
      ])
      expect(restored).toEqual((record.headers ?? []).map(([name, bytes]) => [name, Buffer.from(bytes)]))
      expect(time).toBe(String(record.timestampMs))
      expect(digest).toEqual(
        recordDigest({
          position: { topic: '', partition: 0, offset: 0n },
          key: null,
          value: null,
          headers: [],
          timestampMs: 0n,
          ...record,
        }),
      )
    }
  })

  it('[ADJ-10] counts the same message met again and keeps another message of the same position beside it', async () => {
    const adjudicator = ledger.adjudicator()
    const first = ledger.batch([refused({ value: Buffer.from('old topic') })])
    await adjudicator.judge(first)
    await adjudicator.judge({ ...first, source: { ...first.source, redelivery: true } })
    await adjudicator.judge(ledger.batch([refused({ value: Buffer.from('recreated topic') })], { expectedOffset: 0n, redelivery: true }))
    expect(await ledger.rows('SELECT source_offset, attempts, record_value FROM parked ORDER BY id')).toEqual([
      ['0', 2, Buffer.from('old topic')],
      ['0', 1, Buffer.from('recreated topic')],
    ])
    expect(await ledger.rows('SELECT next_offset, parked_count FROM applied_offset')).toEqual([['1', '1']])
  })

  it('[ADJ-10] takes what a hostile message says about itself: a huge tenant, reason and detail', async () => {
    const hostile = refused(
      { value: Buffer.from('x') },
      { tenantId: 't'.repeat(5_000), reason: 'R'.repeat(500), detail: `${'d'.repeat(999)}🔑🔑` },
    )
    expect(verdictsOf(await ledger.adjudicator().judge(ledger.batch([hostile])))).toEqual(['PARKED'])
    const [row] = await ledger.rows('SELECT tenant_id, LENGTH(reason), CHAR_LENGTH(detail) FROM parked')
    expect(row).toEqual([null, '64', '1000'])
  })

  it('[ADJ-10] takes a batch of messages that together exceed one packet of the server', { timeout: TIMEOUT_MS }, async () => {
    const { tries, observer } = counting()
    const items = Array.from({ length: 40 }, (_, i) => refused({ value: Buffer.alloc(1_000_000, i) }))
    const outcome = await ledger.adjudicator({ observer }).judge(ledger.batch(items))
    expect(outcome).toMatchObject({ kind: 'committed', nextOffset: 40n })
    expect(judgementsOf(outcome)).toHaveLength(40)
    expect(tries).toEqual({ attempts: 0, splits: 1, poisons: [] })
    expect(await ledger.rows('SELECT COUNT(*), SUM(LENGTH(record_value)) FROM parked')).toEqual([['40', '40000000']])
  })

  it('[ADJ-10] [ADJ-8] a message that cannot even be parked stops the partition before it, and the messages before it stand', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const batch = ledger.batch([{ key: 'alice' }, refused({ value: Buffer.alloc(17_000_000) })])
    const adjudicator = ledger.adjudicator()
    expect(await adjudicator.judge(batch)).toMatchObject({ kind: 'committed', nextOffset: 1n })
    const rest = { ...batch, items: batch.items.slice(1), source: { ...batch.source, expectedOffset: 1n } }
    await expect(adjudicator.judge(rest)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    expect(await ledger.value('SELECT next_offset FROM applied_offset')).toBe('1')
  })
})
