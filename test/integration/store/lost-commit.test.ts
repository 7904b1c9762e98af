import { openShardDatabase, type ShardDatabase, StoreUnavailable } from '@onceledger/ledger-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { type CommitFate, type CuttingProxy, startCuttingProxy } from './commit-cutting-proxy.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { judgementsOf, verdictsOf } from './outcomes.ts'

let ledger: StoreLedger
const open: { proxy: CuttingProxy; database: ShardDatabase }[] = []
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(async () => {
  for (const { proxy, database } of open.splice(0)) {
    await database.close()
    await proxy.close()
  }
  await ledger.drop()
})

async function through(fate: CommitFate, cutsMax: number): Promise<{ proxy: CuttingProxy; database: ShardDatabase }> {
  const url = new URL(ledger.url)
  const proxy = await startCuttingProxy(url, fate, cutsMax)
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  const both = { proxy, database: openShardDatabase({ url: url.href, connectionsMax: 4 }) }
  open.push(both)
  return both
}

/** Whether the first attempt stands when it is judged again. While it still runs, either may be the one that the unique key lets pass. */
const ENDS: Readonly<Record<CommitFate, readonly string[]>> = {
  'answer-lost': ['position'],
  'still-running': ['position', 'committed'],
  'never-sent': ['committed'],
}
const FATES: readonly CommitFate[] = ['answer-lost', 'still-running', 'never-sent']

describe('a lost commit answer', () => {
  it.each(FATES)('[ADJ-3] on a partition (%s) ends with the effect once and the position past it', async (fate) => {
    const { proxy, database } = await through(fate, 1)
    const batches = [ledger.batch([{ key: 'alice' }, { key: 'bob' }]), ledger.batch([{ key: 'alice' }])]
    const retried: string[] = []
    const adjudicator = ledger.adjudicator({ database, observer: { onRetry: (code) => retried.push(code) } })
    for (const batch of batches) {
      const outcome = await adjudicator.judge(batch)
      expect(batch === batches[0] ? ENDS[fate] : ['committed']).toContain(outcome.kind)
      expect(outcome).toMatchObject({ nextOffset: batch.source.nextOffset })
    }
    expect(proxy.cuts()).toBe(1)
    expect(retried.length).toBeGreaterThan(0)
    expect(await ledger.rows(`SELECT business_key, balance FROM account WHERE business_key NOT LIKE '@%' ORDER BY business_key`)).toEqual([
      [Buffer.from('alice'), '200'],
      [Buffer.from('bob'), '100'],
    ])
    expect(await ledger.rows('SELECT next_offset, applied_count FROM applied_offset')).toEqual([['3', '3']])
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it.each(FATES)('[ADJ-3] on a repeated request (%s) is answered with the first result', async (fate) => {
    const direct = ledger.adjudicator()
    await direct.judge(ledger.batch([{ key: 'alice' }]))
    const { database } = await through(fate, 1)
    const batch = ledger.batch([{ key: 'alice', operationId: uuidv7() }], { redelivery: true })
    const [judgement] = judgementsOf(await ledger.adjudicator({ database }).judge(batch))
    expect(ENDS[fate]).toContain(judgement?.verdict === 'APPLIED' ? 'committed' : 'position')
    expect(judgement?.first).toMatchObject({ amountMinor: 100n, balanceAfterMinor: 200n, accountVersion: 2n })
    await direct.judge(ledger.batch([{ key: 'alice' }]))
    const [again] = judgementsOf(await direct.judge(batch))
    expect(again).toEqual({ verdict: 'DUPLICATE', reason: null, first: judgement?.first })
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-3] [ADJ-8] of a batch that only parks leaves one parked row and one step of the offset', async () => {
    const { database } = await through('still-running', 1)
    const outcome = await ledger.adjudicator({ database }).judge(ledger.batch([{ key: 'nobody', type: 'withdraw' }]))
    expect(['position', 'committed']).toContain(outcome.kind)
    expect(await ledger.rows('SELECT COUNT(*) FROM parked')).toEqual([['1']])
    expect(await ledger.rows('SELECT next_offset, parked_count FROM applied_offset')).toEqual([['1', '1']])
  })

  it('[ADJ-3] [ADJ-4] that never arrives, for every attempt, surfaces after bounded tries and parks nothing', async () => {
    const { proxy, database } = await through('never-sent', 100)
    const batch = ledger.batch([{ key: 'alice' }])
    await expect(ledger.adjudicator({ database }).judge(batch)).rejects.toThrow(StoreUnavailable)
    expect(proxy.cuts()).toBe(6)
    expect(
      await ledger.value('SELECT (SELECT COUNT(*) FROM parked) + (SELECT COUNT(*) FROM applied_offset) + (SELECT COUNT(*) FROM operation)'),
    ).toBe('0')
    expect(verdictsOf(await ledger.adjudicator().judge(batch))).toEqual(['APPLIED'])
  })
})
