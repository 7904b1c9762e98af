import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { untilSomebodyWaitsFor } from './lock-waits.ts'
import { verdictsOf } from './outcomes.ts'
import { isWritePacket, watchedDatabase } from './watched-database.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

const MS_PER_DAY = 86_400_000

describe('the fence of a bucket', () => {
  it.each([
    ['FROZEN', `UPDATE owned_bucket SET state = 'FROZEN' WHERE bucket = 2`],
    ['GONE', `UPDATE owned_bucket SET state = 'GONE' WHERE bucket = 2`],
    ['ABSENT', 'DELETE FROM owned_bucket WHERE bucket = 2'],
  ])('[RTE-2] a batch with a bucket that is %s writes nothing, parked messages included', async (state, change) => {
    await ledger.rows(change)
    const adjudicator = ledger.adjudicator()
    const batch = ledger.batch([{ key: 'alice' }, { key: 'nobody', type: 'withdraw' }, { key: 'carol', bucket: 2 }], { buckets: [0, 2] })
    expect(await adjudicator.judge(batch)).toEqual({ kind: 'not-owner', bucket: 2, state })
    const written = `SELECT (SELECT COUNT(*) FROM operation) + (SELECT COUNT(*) FROM inbox) + (SELECT COUNT(*) FROM account) + (SELECT COUNT(*) FROM parked)
      + (SELECT COUNT(*) FROM applied_offset)`
    expect(await ledger.value(written)).toBe('0')
    // The session is clean, and the other bucket goes on.
    expect(verdictsOf(await adjudicator.judge(ledger.batch([{ key: 'alice' }], { expectedOffset: 0n })))).toEqual(['APPLIED'])
  })

  it('[RTE-2] a command of a bucket that the batch does not name is refused before anything is sent', async () => {
    const packets: string[] = []
    const database = watchedDatabase(ledger.database, { beforePacket: (sql) => void packets.push(sql) })
    const batch = ledger.batch([{ key: 'alice' }, { key: 'carol', bucket: 2 }])
    await expect(ledger.adjudicator({ database }).judge(batch)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    expect(packets).toEqual([])
  })

  it('[RTE-2] a freeze waits for the transaction in flight, and the next batch is refused', async () => {
    let freeze: Promise<unknown> = Promise.resolve()
    const order: string[] = []
    const database = watchedDatabase(ledger.database, {
      async beforePacket(sql, session) {
        if (!isWritePacket(sql)) return
        freeze = ledger.rows(`UPDATE owned_bucket SET state = 'FROZEN', epoch = 2 WHERE bucket = 0`).then(() => order.push('frozen'))
        await untilSomebodyWaitsFor(session)
        order.push('writing')
      },
    })
    expect(verdictsOf(await ledger.adjudicator({ database }).judge(ledger.batch([{ key: 'alice' }])))).toEqual(['APPLIED'])
    await freeze
    expect(order).toEqual(['writing', 'frozen'])
    expect(await ledger.adjudicator().judge(ledger.batch([{ key: 'alice' }]))).toEqual({ kind: 'not-owner', bucket: 0, state: 'FROZEN' })
    expect(await ledger.value('SELECT next_offset FROM applied_offset')).toBe('1')
  })

  it('[RTE-2] a batch waits for a freeze in flight and then does not write', async () => {
    const outcome = await ledger.database.withSession(async (session) => {
      await session.run(`START TRANSACTION; UPDATE owned_bucket SET state = 'FROZEN' WHERE bucket = 0`)
      const judged = ledger.adjudicator().judge(ledger.batch([{ key: 'alice' }]))
      await untilSomebodyWaitsFor(session)
      await session.run('COMMIT')
      return judged
    })
    expect(outcome).toEqual({ kind: 'not-owner', bucket: 0, state: 'FROZEN' })
    expect(await ledger.value('SELECT COUNT(*) FROM operation')).toBe('0')
  })

  it('[RTE-2] a batch does not wait for the freeze of a bucket between its own', async () => {
    await ledger.database.withSession(async (session) => {
      await session.run(`START TRANSACTION; UPDATE owned_bucket SET state = 'FROZEN' WHERE bucket = 1`)
      const outcome = await ledger.adjudicator().judge(ledger.batch([{ key: 'alice' }, { key: 'carol', bucket: 2 }], { buckets: [0, 2] }))
      expect(verdictsOf(outcome)).toEqual(['APPLIED', 'APPLIED'])
      await session.run('ROLLBACK')
    })
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[RTE-2] a zombie that read before the freeze cannot commit after it', async () => {
    const batch = ledger.batch([{ key: 'alice' }])
    let killed = 0
    const database = watchedDatabase(ledger.database, {
      async beforePacket(sql, session) {
        if (!isWritePacket(sql) || killed++ > 0) return
        const [rows] = await session.run('SELECT CONNECTION_ID()')
        await ledger.rows(`KILL ${String(rows?.[0]?.[0])}`)
        await ledger.rows(`UPDATE owned_bucket SET state = 'FROZEN' WHERE bucket = 0`)
      },
    })
    expect(await ledger.adjudicator({ database }).judge(batch)).toEqual({ kind: 'not-owner', bucket: 0, state: 'FROZEN' })
    expect(await ledger.value('SELECT COUNT(*) FROM operation')).toBe('0')
  })
})

describe('the day of an event', () => {
  it.each([
    ['a UUIDv7', uuidv7(Date.UTC(2024, 1, 29, 23, 59, 59)), Date.UTC(2024, 1, 29)],
    ['a UUIDv7 of 1970', uuidv7(1), 0],
    ['a ULID', '01HQWVC000ZZZZZZZZZZZZZZZZ', null],
  ])('[RTE-3] of %s is the day in the id, and the CHECK lets no other day in', async (_case, eventId, dayMs) => {
    await ledger.adjudicator().judge(ledger.batch([{ key: 'alice', eventId }]))
    const day = Number(await ledger.value('SELECT event_day FROM inbox'))
    expect(day).toBe(Math.floor((dayMs ?? ulidMs(eventId)) / MS_PER_DAY))
    for (const wrong of [day + 1, day === 0 ? 2 : day - 1])
      await expect(ledger.rows(`UPDATE inbox SET event_day = ${wrong}`)).rejects.toMatchObject({ errno: 3819 })
  })

  it('[RTE-3] of an id without a time is the day of its first processing, and a second day of the same id is still a duplicate', async () => {
    const dayOne = 20_000n * BigInt(MS_PER_DAY) * 1_000n
    const spec = { key: 'alice', eventId: 'opaque', operationId: 'op' }
    await ledger.adjudicator({ nowUs: () => dayOne }).judge(ledger.batch([spec]))
    const outcome = await ledger.adjudicator({ nowUs: () => dayOne + BigInt(MS_PER_DAY) * 1_000n }).judge(ledger.batch([spec]))
    expect(verdictsOf(outcome)).toEqual(['DUPLICATE'])
    expect(await ledger.rows('SELECT event_day FROM inbox')).toEqual([[20_000]])
  })

  it('[RTE-3] beyond the allowed clock skew is parked, never recorded', async () => {
    const outcome = await ledger
      .adjudicator()
      .judge(ledger.batch([{ key: 'alice', eventId: uuidv7(Date.now() + 2 * MS_PER_DAY) }, { key: 'alice' }]))
    expect(verdictsOf(outcome)).toEqual(['PARKED', 'APPLIED'])
    expect(await ledger.rows('SELECT reason FROM parked')).toEqual([[Buffer.from('EVENT_IN_FUTURE')]])
  })
})

/** Crockford base 32: the first ten characters are the milliseconds. */
function ulidMs(ulid: string): number {
  let ms = 0
  for (const character of ulid.slice(0, 10)) ms = ms * 32 + '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(character)
  return ms
}
