import { type ShardDatabase, StoreUnavailable } from '@onceledger/ledger-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createStoreLedger, type StoreLedger } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { until, untilSomebodyWaitsFor } from './lock-waits.ts'
import { verdictsOf } from './outcomes.ts'
import { isReadPacket, isWritePacket, watchedDatabase } from './watched-database.ts'

const TIMEOUT_MS = 30_000
let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

/** The same sessions, with the shortest lock wait that InnoDB knows. */
function impatient(database: ShardDatabase): ShardDatabase {
  return watchedDatabase(database, {
    async beforePacket(sql, session) {
      if (isReadPacket(sql)) await session.run('SET SESSION innodb_lock_wait_timeout = 1')
    },
  })
}

const ALICE = `business_key = 'alice'`

/** Holds a row until `release`, in a transaction of its own. Resolves when the lock is held. */
async function hold(sql: string): Promise<{ release: () => Promise<void> }> {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let whole: Promise<void> = Promise.resolve()
  await new Promise<void>((held, failed) => {
    whole = ledger.database.withSession(async (session) => {
      await session.run(`START TRANSACTION;${sql}`)
      held()
      await released
      await session.run('ROLLBACK')
    })
    whole.catch(failed)
  })
  return {
    release: () => {
      release()
      return whole
    },
  }
}

describe('faults of the database', () => {
  it('[ADJ-4] a real deadlock (1213) is judged again and ends once', async () => {
    const plain = ledger.adjudicator()
    await plain.judge(ledger.batch([{ key: 'alice' }, { key: 'bob' }]))
    const retried: string[] = []
    let rival: Promise<void> = Promise.resolve()
    let packets = 0
    const database = watchedDatabase(ledger.database, {
      async beforePacket(sql, session) {
        if (!isWritePacket(sql) || packets++ > 0) return
        // The rival holds a row that this transaction is made to want, has written more, and wants one that this transaction holds.
        let isHolding = (): void => undefined
        const holding = new Promise<void>((resolve) => {
          isHolding = resolve
        })
        rival = ledger.database.withSession(async (other) => {
          const many = Array.from({ length: 200 }, (_, i) => `(${i + 10},0,'x',x'00',1,'y')`)
          await other.run(
            `START TRANSACTION; INSERT INTO reversal VALUES ${many.join(',')}; UPDATE owned_bucket SET hot_from = 1 WHERE bucket = 3`,
          )
          isHolding()
          await other.run(`UPDATE account SET bucket = bucket WHERE ${ALICE}`)
          await other.run('ROLLBACK')
        })
        await holding
        await untilSomebodyWaitsFor(session)
        await session.run('SELECT * FROM owned_bucket WHERE bucket = 3 FOR SHARE')
      },
    })
    const adjudicator = ledger.adjudicator({ database, observer: { onRetry: (code) => retried.push(code) } })
    expect(verdictsOf(await adjudicator.judge(ledger.batch([{ key: 'alice' }, { key: 'bob' }])))).toEqual(['APPLIED', 'APPLIED'])
    await rival
    expect(retried).toEqual(['1213'])
    expect(await ledger.value(`SELECT balance FROM account WHERE ${ALICE}`)).toBe('200')
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-4] a lock wait that times out (1205) is tried again until the lock is free', { timeout: TIMEOUT_MS }, async () => {
    await ledger.adjudicator().judge(ledger.batch([{ key: 'alice' }]))
    const holder = await hold(`SELECT * FROM account WHERE ${ALICE} FOR UPDATE`)
    const retried: string[] = []
    const adjudicator = ledger.adjudicator({
      database: impatient(ledger.database),
      observer: {
        onRetry(code) {
          retried.push(code)
          if (retried.length === 2) void holder.release()
        },
      },
    })
    expect(verdictsOf(await adjudicator.judge(ledger.batch([{ key: 'bob' }, { key: 'alice' }])))).toEqual(['APPLIED', 'APPLIED'])
    expect(retried).toEqual(['1205', '1205'])
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-4] retries spent on a lock surface, park nothing and leave the batch to be given again', { timeout: TIMEOUT_MS }, async () => {
    await ledger.adjudicator().judge(ledger.batch([{ key: 'alice' }]))
    const holder = await hold(`SELECT * FROM account WHERE ${ALICE} FOR UPDATE`)
    const retried: string[] = []
    const adjudicator = ledger.adjudicator({ database: impatient(ledger.database), observer: { onRetry: (code) => retried.push(code) } })
    const batch = ledger.batch([{ key: 'bob' }, { key: 'alice' }])
    await expect(adjudicator.judge(batch)).rejects.toMatchObject({ name: 'StoreUnavailable', code: '1205' })
    await holder.release()
    expect(retried).toEqual(Array.from({ length: 6 }, () => '1205'))
    expect(
      await ledger.rows('SELECT COUNT(*), (SELECT COUNT(*) FROM parked), (SELECT next_offset FROM applied_offset) FROM operation'),
    ).toEqual([['1', '0', '1']])
    expect(verdictsOf(await adjudicator.judge(batch))).toEqual(['APPLIED', 'APPLIED'])
  })

  it.each([
    ['before the read', isReadPacket],
    ['between read and write', isWritePacket],
  ])('[ADJ-4] a connection killed %s is replaced, and the batch ends once', async (_case, isTheMoment) => {
    let kills = 0
    const database = watchedDatabase(ledger.database, {
      async beforePacket(sql, session) {
        if (!isTheMoment(sql) || kills++ > 1) return
        const [rows] = await session.run('SELECT CONNECTION_ID()')
        const id = String(rows?.[0]?.[0])
        await ledger.rows(`KILL ${id}`)
        await until(async () => (await ledger.value(`SELECT COUNT(*) FROM information_schema.processlist WHERE id = ${id}`)) === '0')
      },
    })
    const retried: string[] = []
    const adjudicator = ledger.adjudicator({ database, observer: { onRetry: (code) => retried.push(code) } })
    expect(verdictsOf(await adjudicator.judge(ledger.batch([{ key: 'alice' }, { key: 'bob' }])))).toEqual(['APPLIED', 'APPLIED'])
    expect(retried).toHaveLength(2)
    expect(await ledger.rows('SELECT next_offset, applied_count FROM applied_offset')).toEqual([['2', '2']])
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-4] a query killed in the middle of the write is tried again', async () => {
    let kills = 0
    const database = watchedDatabase(ledger.database, {
      async beforePacket(sql, session) {
        if (!isWritePacket(sql) || kills++ > 0) return
        const [rows] = await session.run('SELECT CONNECTION_ID()')
        const id = String(rows?.[0]?.[0])
        void until(
          async () =>
            (await ledger.value(`SELECT COUNT(*) FROM information_schema.processlist WHERE id = ${id} AND state = 'User sleep'`)) === '1',
        ).then(() => ledger.rows(`KILL QUERY ${id}`))
        return sql.replace(/;COMMIT$/, `;UPDATE applied_offset SET updated_at = SLEEP(5);COMMIT`)
      },
    })
    const retried: string[] = []
    const adjudicator = ledger.adjudicator({ database, observer: { onRetry: (code) => retried.push(code) } })
    expect(verdictsOf(await adjudicator.judge(ledger.batch([{ key: 'alice' }])))).toEqual(['APPLIED'])
    expect(retried).toEqual(['1317'])
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it("[ADJ-4] a fault that is nobody's data (a missing column) surfaces at once and parks nothing", async () => {
    await ledger.rows('ALTER TABLE inbox DROP COLUMN source_offset')
    const retried: string[] = []
    const adjudicator = ledger.adjudicator({ observer: { onRetry: (code) => retried.push(code) } })
    await expect(adjudicator.judge(ledger.batch([{ key: 'alice' }]))).rejects.toThrow(StoreUnavailable)
    expect(retried).toEqual([])
    expect(
      await ledger.rows('SELECT COUNT(*), (SELECT COUNT(*) FROM parked), (SELECT COUNT(*) FROM applied_offset) FROM operation'),
    ).toEqual([['0', '0', '0']])
  })
})
