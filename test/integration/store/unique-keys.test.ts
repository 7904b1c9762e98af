import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { judgementsOf, verdictsOf } from './outcomes.ts'
import { isWritePacket, watchedDatabase } from './watched-database.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger(10)
})
afterEach(() => ledger.drop())

describe('the unique keys decide', () => {
  it('[ADJ-2] adjudicators that race for the same operations apply each once', async () => {
    const rounds = 12
    const racers = [ledger.adjudicator(), ledger.adjudicator(), ledger.adjudicator()]
    for (let round = 0; round < rounds; round++) {
      const specs = Array.from({ length: 5 }, (_, i) => ({ key: `race-${round}-${i % 3}`, operationId: uuidv7(), eventId: uuidv7() }))
      const first = ledger.batch(specs)
      const again = { ...first, source: { ...first.source, redelivery: true } }
      const outcomes = await Promise.all(racers.map((adjudicator) => adjudicator.judge(again)))
      const applied = outcomes.flatMap(verdictsOf).filter((verdict) => verdict === 'APPLIED')
      expect(applied).toHaveLength(specs.length)
      const results = outcomes.map((outcome) => judgementsOf(outcome).map(({ first: result }) => result))
      expect(results[1]).toEqual(results[0])
      expect(results[2]).toEqual(results[0])
    }
    expect(await ledger.value('SELECT COUNT(*) FROM operation')).toBe(String(rounds * 5))
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-2] consumers that race over one partition commit every position once', async () => {
    const batches = Array.from({ length: 10 }, () => ledger.batch([{ key: 'alice' }, { key: 'bob' }]))
    const run = async (): Promise<string[]> => {
      const adjudicator = ledger.adjudicator()
      const kinds: string[] = []
      for (const batch of batches) kinds.push((await adjudicator.judge(batch)).kind)
      return kinds
    }
    const all = (await Promise.all([run(), run()])).flat()
    expect(all.filter((kind) => kind === 'committed')).toHaveLength(10)
    expect(await ledger.value(`SELECT next_offset FROM applied_offset`)).toBe('20')
    expect(await ledger.value('SELECT COUNT(*) FROM operation')).toBe('20')
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-2] an operation that another process commits between read and write is answered as its duplicate', async () => {
    const operationId = uuidv7()
    const other = ledger.adjudicator()
    const mine = ledger.batch([{ key: 'carol', operationId }])
    const theirs = ledger.batch([{ key: 'carol', operationId, bucket: 0 }], { partition: 1, buckets: [0] })
    let behind = 0
    const database = watchedDatabase(ledger.database, {
      async beforePacket(sql) {
        if (isWritePacket(sql) && behind++ === 0) expect(verdictsOf(await other.judge(theirs))).toEqual(['APPLIED'])
      },
    })
    const outcome = await ledger.adjudicator({ database }).judge(mine)
    expect(verdictsOf(outcome)).toEqual(['DUPLICATE'])
    expect(behind).toBe(2)
    expect(await ledger.value('SELECT COUNT(*) FROM operation')).toBe('1')
  })

  it.each([
    ['insufficient funds, retryable', 'collect', { amount: '100', currency: 'CZK' }, { amount: '100', currency: 'CZK' }, 'DUPLICATE'],
    ['an account of another currency', 'withdraw', { amount: '100', currency: 'CZK' }, { amount: '100', currency: 'EUR' }, 'CONFLICT'],
  ])('[ADJ-2] a known operation that would be refused for now is never parked: %s', async (_case, type, first, second, verdict) => {
    const operationId = uuidv7()
    const opening = ledger.batch([{ key: 'dave' }, { key: 'dave', type, operationId, data: first }])
    expect(verdictsOf(await ledger.adjudicator().judge(opening))).toEqual(['APPLIED', 'APPLIED'])
    // Another process with no memory of the operation meets it again: it inserts first, and the refusal inserts nothing.
    const outcome = await ledger.adjudicator().judge(ledger.batch([{ key: 'dave', type, operationId, data: second }]))
    expect(verdictsOf(outcome)).toEqual([verdict])
    expect(await ledger.value('SELECT COUNT(*) FROM parked')).toBe('0')
    expect(await ledger.value('SELECT COUNT(*) FROM conflict_audit')).toBe(verdict === 'CONFLICT' ? '1' : '0')
  })

  it('[ADJ-2] a known deposit that would overflow now is a duplicate, not parked', async () => {
    const deposit = { key: 'erin', operationId: uuidv7(), data: { amount: '9223372036854775807', currency: 'CZK' } }
    expect(verdictsOf(await ledger.adjudicator().judge(ledger.batch([deposit])))).toEqual(['APPLIED'])
    expect(verdictsOf(await ledger.adjudicator().judge(ledger.batch([deposit])))).toEqual(['DUPLICATE'])
  })

  it('[ADJ-2] a credit judged by event that would overflow now is a duplicate, not parked', async () => {
    const credit = { key: 'erin', type: 'credit', eventId: uuidv7(), data: { amount: '9223372036854775707', currency: 'CZK' } }
    expect(verdictsOf(await ledger.adjudicator().judge(ledger.batch([{ key: 'erin' }, credit])))).toEqual(['APPLIED', 'APPLIED'])
    expect(verdictsOf(await ledger.adjudicator().judge(ledger.batch([credit])))).toEqual(['DUPLICATE'])
    expect(await ledgerViolations(ledger)).toEqual([])
  })
})

describe('a second event for an operation', () => {
  it('[ADJ-6] gets the first result and its own inbox row, and has no second effect', async () => {
    const operationId = uuidv7()
    const adjudicator = ledger.adjudicator()
    const [first] = judgementsOf(await adjudicator.judge(ledger.batch([{ operationId, eventId: 'one' }])))
    const [second] = judgementsOf(await adjudicator.judge(ledger.batch([{ operationId, eventId: 'two' }])))
    expect(second).toEqual({ verdict: 'DUPLICATE', reason: null, first: first?.first })
    expect(await ledger.rows('SELECT CAST(SUBSTR(event_id, 2) AS CHAR), verdict FROM inbox ORDER BY event_id')).toEqual([
      ['one', 1],
      ['two', 3],
    ])
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-6] one event id for two operations leaves an audit row, and both operations stand', async () => {
    const eventId = uuidv7()
    const adjudicator = ledger.adjudicator()
    await adjudicator.judge(ledger.batch([{ operationId: 'a', eventId }]))
    expect(verdictsOf(await adjudicator.judge(ledger.batch([{ operationId: 'b', eventId }])))).toEqual(['APPLIED'])
    expect(await ledger.rows('SELECT kind, first_operation FROM conflict_audit')).toEqual([['EVENT_REUSED', Buffer.from('deposit/a')]])
    expect(await ledger.value('SELECT COUNT(*) FROM operation')).toBe('2')
  })
})
