import { StoreUnavailable } from '@onceledger/ledger-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandSpec, createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { ledgerViolations } from './ledger-invariants.ts'
import { verdictsOf } from './outcomes.ts'
import { isWritePacket, watchedDatabase } from './watched-database.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger(1)
})
afterEach(() => ledger.drop())

const TABLES = [
  ...(['account', 'sequence_head', 'operation', 'sequence_step', 'reversal', 'posting', 'inbox'] as const),
  ...(['deferred', 'conflict_audit', 'parked', 'outbox', 'applied_offset'] as const),
] as const
const PUBLISHING = { publishing: true }

async function contents(): Promise<unknown[]> {
  const all: unknown[] = []
  for (const table of TABLES) all.push([table, await ledger.rows(`SELECT * FROM ${table}`)])
  return all
}

const FIRST: CommandSpec[] = [
  { key: 'alice', operationId: 'first' },
  { key: 'alice', operationId: 'second' },
]

/** Touches every table: a new account, a changed one, a reversal, an event posting, a conflict, a parked command, one that waited and one that waits. */
function everything(): CommandSpec[] {
  return [
    { key: 'bob' },
    { key: 'alice' },
    { key: 'alice', type: 'reverse', data: { targetType: 'deposit', targetOperationId: 'first', currency: 'CZK' } },
    { key: 'alice', type: 'credit' },
    { key: 'alice', operationId: 'second', data: { amount: '999', currency: 'CZK' } },
    { key: 'nobody', type: 'withdraw' },
    ...[2n, 1n, 4n].map((aggregateVersion) => ({ key: 'alice', type: 'entry', aggregateVersion })),
  ]
}

describe('a batch whose write fails', () => {
  it.each(TABLES)('[ADJ-1] leaves nothing when the statement for %s fails, and the only connection is clean afterwards', async (table) => {
    const adjudicator = ledger.adjudicator(PUBLISHING)
    expect(verdictsOf(await adjudicator.judge(ledger.batch(FIRST)))).toEqual(['APPLIED', 'APPLIED'])
    const before = await contents()
    const batch = ledger.batch(everything())

    await breakWrites(table)
    await expect(adjudicator.judge(batch)).rejects.toThrow(StoreUnavailable)
    await ledger.rows('DROP TRIGGER broken_insert; DROP TRIGGER broken_update')

    expect(await contents()).toEqual(before)
    expect(await ledger.value(`SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = CONNECTION_ID()`)).toBe('0')
    expect(verdictsOf(await adjudicator.judge(batch))).toEqual([
      'APPLIED',
      'APPLIED',
      'APPLIED',
      'APPLIED',
      'CONFLICT',
      'PARKED',
      'APPLIED',
      'APPLIED',
      'DEFERRED',
    ])
    for (const each of TABLES) expect(Number(await ledger.value(`SELECT COUNT(*) FROM ${each}`))).toBeGreaterThan(0)
    expect(await ledgerViolations(ledger)).toEqual([])
  })

  it('[ADJ-1] leaves nothing at whichever statement of the packet the server stops', async () => {
    const adjudicator = ledger.adjudicator(PUBLISHING)
    await adjudicator.judge(ledger.batch(FIRST))
    const before = await contents()
    const batch = ledger.batch(everything())
    const stops: number[] = []
    for (let at = 0; ; at++) {
      let statements = 0
      const database = watchedDatabase(ledger.database, {
        beforePacket(sql) {
          if (!isWritePacket(sql)) return
          const parts = sql.split(';')
          statements = parts.length
          return [...parts.slice(0, at), 'SELECT * FROM no_such_table', ...parts.slice(at)].join(';')
        },
      })
      const failed = await ledger
        .adjudicator({ ...PUBLISHING, database })
        .judge(batch)
        .then(
          () => false,
          (error: unknown) => error instanceof StoreUnavailable,
        )
      // Behind the COMMIT there is nothing left to undo.
      if (at >= statements) break
      expect(failed).toBe(true)
      expect(await contents()).toEqual(before)
      stops.push(at)
    }
    expect(stops.length).toBeGreaterThan(9)
    expect(await ledger.value('SELECT next_offset FROM applied_offset')).toBe('11')
  })

  it('[ADJ-1] [ADJ-4] a row that collides behind the back undoes everything and is judged again with its reads', async () => {
    const eventId = uuidv7()
    const batch = ledger.batch([{ key: 'alice' }, { key: 'bob', eventId, operationId: 'mine' }])
    let packets = 0
    const database = watchedDatabase(ledger.database, {
      async beforePacket(sql, session) {
        if (!isWritePacket(sql) || packets++ > 0) return
        // In the same transaction, so the failing packet must take it with it.
        await session.run(`INSERT INTO account (aggregate_id, currency, tenant_no, business_key, bucket, version, balance, overdraft_limit)
          VALUES (x'00000000000000000000000000000001', 'XXX', 1, 'ghost', 0, 0, 5, 0)`)
        return sql.replace(
          'INSERT INTO operation',
          `INSERT INTO reversal VALUES (1, 1, 'x', x'00', 1, 'y'), (1, 1, 'x', x'00', 1, 'y');INSERT INTO operation`,
        )
      },
    })
    const retried: string[] = []
    const adjudicator = ledger.adjudicator({ database, observer: { onRetry: (code) => retried.push(code) } })
    expect(verdictsOf(await adjudicator.judge(batch))).toEqual(['APPLIED', 'APPLIED'])
    expect(retried).toEqual(['1062'])
    expect(await ledger.value(`SELECT COUNT(*) FROM account WHERE business_key = 'ghost'`)).toBe('0')
    expect(await ledger.value(`SELECT COUNT(*) FROM reversal`)).toBe('0')
    expect(await ledgerViolations(ledger)).toEqual([])
  })
})

/** The table refuses every write with an error that no message can be blamed for. */
async function breakWrites(table: string): Promise<void> {
  const refuse = `SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1030, MESSAGE_TEXT = 'broken on purpose'`
  await ledger.rows(`CREATE TRIGGER broken_insert BEFORE INSERT ON ${table} FOR EACH ROW ${refuse};
    CREATE TRIGGER broken_update BEFORE UPDATE ON ${table} FOR EACH ROW ${refuse}`)
}
