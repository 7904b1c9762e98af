import { createContractRegistry, MONEY_CONTRACTS, recordDigest } from '@onceledger/core'
import type { Names, ShardDatabase } from '@onceledger/ledger-store'
import { describe, expect, it } from 'vitest'
import { ResultCatchUp } from '../src/results/catch-up.ts'

const record = (offset: bigint) =>
  ({
    position: { topic: 'commands', partition: 3, offset },
    key: Buffer.from('k'),
    value: Buffer.from('rubbish'),
    headers: [],
    timestampMs: 0n,
  }) as const
const LAST = recordDigest(record(9n))

function scene(logStart = 0n) {
  const restarted: number[] = []
  const enqueued: { publishedTo: bigint }[] = []
  const unknown: number[] = []
  const database = {
    withSession: (work: (session: unknown) => unknown) => work({ run: async () => Array.from({ length: 9 }, () => []) }),
    close: async () => undefined,
  } as unknown as ShardDatabase
  const catchUp = new ResultCatchUp({
    database,
    names: { resolveTenants: async () => undefined } as unknown as Names,
    registry: createContractRegistry(MONEY_CONTRACTS),
    topic: 'commands',
    bucketCount: 4,
    relay: { enqueue: (_partition, batch) => void enqueued.push(batch) },
    logStart: async () => logStart,
    restart: (partition) => void restarted.push(partition),
    onUnknown: (_partition, messages) => void unknown.push(messages),
  })
  return { catchUp, restarted, enqueued, unknown }
}

const applied = { nextOffset: 10n, lastDigest: LAST, publishedOffset: 6n }
const batchFrom = (offset: bigint, count = 4) => ({
  topic: 'commands',
  partition: 3,
  expectedOffset: offset,
  records: Array.from({ length: count }, (_, i) => record(offset + BigInt(i))),
})

describe('the results of a process that crashed', () => {
  it('[ADJ-8] are read again only after the log was held against the database, also when a start fails half way', async () => {
    const { catchUp, restarted } = scene()
    expect(await catchUp.startOf(3, applied)).toBe(applied)
    expect(await catchUp.startOf(3, applied)).toBe(applied)
    catchUp.running(3)
    catchUp.running(3)
    expect(restarted).toEqual([3])
    expect(await catchUp.handle(batchFrom(10n))).toMatchObject({ kind: 'pause' })
    expect(restarted).toEqual([3])
    expect(await catchUp.startOf(3, applied)).toEqual({ nextOffset: 6n, lastDigest: null, publishedOffset: 6n })
    expect(catchUp.isBehind(3)).toBe(true)
  })

  it('are read again too when only a batch tells that the partition runs', async () => {
    const { catchUp, restarted } = scene()
    await catchUp.startOf(3, applied)
    expect(await catchUp.handle(batchFrom(10n))).toMatchObject({ kind: 'pause' })
    expect(restarted).toEqual([3])
    expect(await catchUp.startOf(3, applied)).toMatchObject({ nextOffset: 6n })
  })

  it('end where the applied offset stands, and what comes after is judged', async () => {
    const { catchUp, enqueued } = scene()
    await catchUp.startOf(3, applied)
    catchUp.running(3)
    await catchUp.startOf(3, applied)
    expect(await catchUp.handle(batchFrom(6n, 2))).toEqual({ kind: 'done', nextOffset: 8n })
    expect(await catchUp.handle(batchFrom(8n, 9))).toEqual({ kind: 'done', nextOffset: 10n })
    expect(enqueued.map(({ publishedTo }) => publishedTo)).toEqual([8n, 10n])
    expect(catchUp.isBehind(3)).toBe(false)
    expect(await catchUp.handle(batchFrom(10n))).toBeNull()
  })

  it('[ADJ-8] are not taken from another topic: its last record goes back to the start to be found out', async () => {
    const { catchUp, enqueued } = scene()
    const other = { ...applied, lastDigest: Buffer.alloc(32) }
    await catchUp.startOf(3, other)
    catchUp.running(3)
    await catchUp.startOf(3, other)
    expect(await catchUp.handle(batchFrom(6n))).toEqual({ kind: 'seek', nextOffset: 10n, lastDigest: other.lastDigest })
    expect(enqueued).toEqual([])
  })

  it('begin where the log does when it has lost some of them, and are counted as unknown when it has lost all', async () => {
    const some = scene(8n)
    await some.catchUp.startOf(3, applied)
    some.catchUp.running(3)
    expect(await some.catchUp.startOf(3, applied)).toMatchObject({ nextOffset: 8n })

    const all = scene(10n)
    await all.catchUp.startOf(3, applied)
    all.catchUp.running(3)
    expect(await all.catchUp.startOf(3, applied)).toBe(applied)
    expect([all.unknown, all.enqueued.map(({ publishedTo }) => publishedTo)]).toEqual([[4], [10n]])
    expect(all.catchUp.isBehind(3)).toBe(false)
  })
})
