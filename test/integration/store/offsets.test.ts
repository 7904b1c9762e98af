import { loadAppliedOffset, loadProgress, resetOffset } from '@onceledger/ledger-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createStoreLedger, nowUs, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { verdictsOf } from './outcomes.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

async function rowsWritten(): Promise<string> {
  return ledger.value('SELECT (SELECT COUNT(*) FROM operation) + (SELECT COUNT(*) FROM inbox) + (SELECT COUNT(*) FROM parked)')
}

describe('the position of a partition', () => {
  it.each([
    ['behind', 1n],
    ['ahead', 5n],
  ])(
    '[ADJ-8] a batch fetched %s of the applied offset is answered with the position, and nothing is written',
    async (_case, expectedOffset) => {
      const adjudicator = ledger.adjudicator()
      const first = ledger.batch([{ key: 'alice' }, { key: 'bob' }])
      await adjudicator.judge(first)
      const before = await rowsWritten()
      const outcome = await adjudicator.judge(ledger.batch([{ key: 'alice' }, { key: 'nobody', type: 'withdraw' }], { expectedOffset }))
      expect(outcome).toEqual({ kind: 'position', nextOffset: 2n, lastDigest: Buffer.from(first.source.lastDigestHex, 'hex') })
      expect(await rowsWritten()).toBe(before)
      expect(await ledger.value('SELECT next_offset FROM applied_offset')).toBe('2')
      // The session that gave up its transaction is clean: what follows is committed.
      expect((await adjudicator.judge(ledger.batch([{ key: 'alice' }], { expectedOffset: 2n }))).kind).toBe('committed')
    },
  )

  it('[ADJ-8] that is not stored lets no batch pass but the first of the log: what lies before would be skipped', async () => {
    const adjudicator = ledger.adjudicator()
    const later = ledger.batch([{ key: 'alice' }, { key: 'bob' }], { expectedOffset: 5n })
    expect(await adjudicator.judge(later)).toEqual({ kind: 'no-position' })
    expect([await rowsWritten(), await ledger.value('SELECT COUNT(*) FROM applied_offset')]).toEqual(['0', '0'])
    // A log that has lost its oldest records begins later: its reader has just read its first.
    expect((await adjudicator.judge({ ...later, source: { ...later.source, fresh: true } })).kind).toBe('committed')
    expect(await ledger.value('SELECT next_offset FROM applied_offset')).toBe('7')
  })

  it('[ADJ-8] a redelivery is judged again and never moves the offset back', async () => {
    const adjudicator = ledger.adjudicator()
    const batch = ledger.batch([{ key: 'alice' }, { key: 'bob' }, { key: 'alice' }])
    await adjudicator.judge(batch)
    const again = { ...batch, source: { ...batch.source, redelivery: true } }
    expect(verdictsOf(await adjudicator.judge(again))).toEqual(['DUPLICATE', 'DUPLICATE', 'DUPLICATE'])
    const { items, source } = again
    const onlyTheFirst = { ...again, items: items.slice(0, 1), source: { ...source, nextOffset: 1n, lastDigestHex: 'cd'.repeat(32) } }
    expect(verdictsOf(await adjudicator.judge(onlyTheFirst))).toEqual(['DUPLICATE'])
    expect(await loadAppliedOffset(ledger.database, ledger.topic, 0)).toEqual({
      nextOffset: 3n,
      publishedOffset: 3n,
      lastDigest: Buffer.from(source.lastDigestHex, 'hex'),
    })
    expect(await ledger.rows('SELECT applied_count, duplicate_count FROM applied_offset')).toEqual([['3', '0']])
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-8] a redelivery that goes past the offset moves it on and counts only what it passes for the first time', async () => {
    const adjudicator = ledger.adjudicator()
    const old = [
      { key: 'alice', operationId: uuidv7() },
      { key: 'bob', operationId: uuidv7() },
    ]
    await adjudicator.judge(ledger.batch(old))
    const straddling = ledger.batch([...old, { key: 'carol' }, { key: 'nobody', type: 'withdraw' }], {
      expectedOffset: 0n,
      redelivery: true,
    })
    expect(verdictsOf(await adjudicator.judge(straddling))).toEqual(['DUPLICATE', 'DUPLICATE', 'APPLIED', 'PARKED'])
    expect(await ledger.rows('SELECT next_offset, applied_count, duplicate_count, parked_count FROM applied_offset')).toEqual([
      ['4', '3', '0', '1'],
    ])
  })

  it('[ADJ-8] a redelivery cannot jump over positions that were never applied', async () => {
    const adjudicator = ledger.adjudicator()
    await adjudicator.judge(ledger.batch([{ key: 'alice' }]))
    const outcome = await adjudicator.judge(ledger.batch([{ key: 'bob' }], { expectedOffset: 5n, redelivery: true }))
    expect(outcome).toMatchObject({ kind: 'position', nextOffset: 1n })
  })

  it('[ADJ-8] the tallies of verdicts equal the messages that the offset has passed', async () => {
    const adjudicator = ledger.adjudicator()
    const once = { key: 'alice', operationId: uuidv7() }
    const specs = [
      once,
      once,
      { ...once, data: { amount: '7', currency: 'CZK' } },
      { key: 'alice', type: 'withdraw', data: { amount: '5000', currency: 'CZK' } },
      { key: 'nobody', type: 'withdraw' },
      { key: 'bob' },
    ]
    for (let i = 0; i < 3; i++) await adjudicator.judge(ledger.batch(specs))
    const [progress] = await loadProgress(ledger.database, ledger.topic)
    expect(progress?.nextOffset).toBe(18n)
    expect(progress?.tally).toEqual({ applied: 4n, duplicate: 5n, conflict: 3n, rejected: 3n, parked: 3n, deferred: 0n, stale: 0n })
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-8] an empty stretch of the log (transaction markers) moves the offset and nothing else', async () => {
    const adjudicator = ledger.adjudicator()
    await adjudicator.judge(ledger.batch([{ key: 'alice' }]))
    const empty = {
      items: [],
      buckets: [0],
      source: { topic: ledger.topic, partition: 0, expectedOffset: 1n, nextOffset: 4n, lastDigestHex: 'ab'.repeat(32) },
    }
    expect(await adjudicator.judge(empty)).toEqual({ kind: 'committed', judgements: [], results: [], nextOffset: 4n, more: false })
    expect(await loadAppliedOffset(ledger.database, ledger.topic, 0)).toEqual({
      nextOffset: 4n,
      publishedOffset: 4n,
      lastDigest: Buffer.from('ab'.repeat(32), 'hex'),
    })
  })

  it('[ADJ-8] a position set by an operator makes old messages duplicates, not second effects', async () => {
    const adjudicator = ledger.adjudicator()
    const batch = ledger.batch([{ key: 'alice' }, { key: 'bob' }])
    await adjudicator.judge(batch)
    await resetOffset(ledger.database, ledger.topic, 0, 0n, nowUs())
    expect(verdictsOf(await adjudicator.judge(batch))).toEqual(['DUPLICATE', 'DUPLICATE'])
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-8] partitions and topics have positions of their own', async () => {
    const adjudicator = ledger.adjudicator()
    await adjudicator.judge(ledger.batch([{ key: 'alice' }]))
    await adjudicator.judge(ledger.batch([{ key: 'zoe' }, { key: 'zoe' }], { partition: 1 }))
    const other = ledger.batch([{ key: 'alice' }])
    const outcome = await adjudicator.judge({
      ...other,
      source: { ...other.source, topic: `${ledger.topic}2`, expectedOffset: 40n, nextOffset: 41n, fresh: true },
    })
    expect(outcome.kind).toBe('committed')
    expect((await loadProgress(ledger.database, ledger.topic)).map(({ partition, nextOffset }) => [partition, nextOffset])).toEqual([
      [0, 1n],
      [1, 2n],
    ])
    expect(await ledgerViolations(ledger)).toEqual([])
  })
})
