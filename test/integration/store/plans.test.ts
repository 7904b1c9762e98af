import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandSpec, createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { verdictsOf } from './outcomes.ts'
import { isWritePacket, watchedDatabase } from './watched-database.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

/** Deposits and credits over so many accounts. */
async function fill(accounts: number): Promise<CommandSpec[]> {
  const specs: CommandSpec[] = Array.from({ length: accounts }, (_, i) => ({ key: `key-${i}`, operationId: uuidv7(), eventId: uuidv7() }))
  const adjudicator = ledger.adjudicator()
  for (let i = 0; i < accounts; i += 1_000) await adjudicator.judge(ledger.batch(specs.slice(i, i + 1_000)))
  await ledger.rows('ANALYZE TABLE account, operation, inbox, reversal, applied_offset, owned_bucket')
  return specs
}

/** Statements of a batch that read or change what stands: known identities, a new command, a credit and a reversal. */
async function statementsOf(known: readonly CommandSpec[]): Promise<string[]> {
  const statements: string[] = []
  const database = watchedDatabase(ledger.database, { beforePacket: (sql) => void statements.push(...sql.split(';')) })
  const reversal = (i: number): CommandSpec => ({
    key: `key-${i}`,
    type: 'reverse',
    data: { targetType: 'deposit', targetOperationId: known[i]?.operationId ?? '', currency: 'CZK' },
  })
  const batch = ledger.batch([...known.slice(0, 8), { key: 'key-1' }, { key: 'key-2', type: 'credit' }, reversal(3), reversal(4)])
  const verdicts = verdictsOf(await ledger.adjudicator({ database }).judge(batch))
  expect(verdicts).toEqual([...Array.from({ length: 8 }, () => 'DUPLICATE'), 'APPLIED', 'APPLIED', 'APPLIED', 'APPLIED'])
  return [...new Set(statements)].filter((sql) => /^\s*(SELECT|UPDATE)/.test(sql) && !sql.includes('ROW_COUNT'))
}

async function planOf(sql: string): Promise<string> {
  return ledger.value(`EXPLAIN FORMAT=TREE ${sql}`)
}

const JOINED: Readonly<Record<string, RegExp>> = {
  'the account lock': /FOR UPDATE OF a/,
  'the operation read': /STRAIGHT_JOIN operation/,
  'the reversal read': /STRAIGHT_JOIN reversal/,
  'the inbox read': /STRAIGHT_JOIN inbox/,
  'the account update': /^UPDATE \(VALUES/,
}

describe('the plans of a batch', () => {
  it.each([10, 5_000])('[ADJ-2] look up every key in the primary key, with %i accounts', async (accounts) => {
    const statements = await statementsOf(await fill(accounts))
    for (const [what, pattern] of Object.entries(JOINED)) {
      const found = statements.filter((sql) => pattern.test(sql))
      expect({ what, found }).not.toMatchObject({ found: [] })
      for (const sql of found) {
        const plan = await planOf(sql)
        expect(plan).toMatch(/(Single-row index|Single-row covering index|Index) lookup on \w+ using PRIMARY/)
        // The only scan is that of the list of values.
        expect(plan).not.toMatch(/(Table|Index|range) scan on (?!wanted|next|<temporary>)\w+/)
      }
    }
    for (const sql of statements.filter((each) => /FROM (owned_bucket|applied_offset)/.test(each)))
      expect(await planOf(sql)).toMatch(/Rows fetched before execution|Single-row index lookup/)
  })

  it.each([10, 2_000])('[ADJ-1] lock the accounts that the batch names and no other, of %i', async (accounts) => {
    await fill(accounts)
    let locked: unknown[][] = []
    const database = watchedDatabase(ledger.database, {
      async beforePacket(sql, session) {
        if (!isWritePacket(sql)) return
        const [rows = []] = await session.run(`SELECT l.object_name, l.index_name, l.lock_mode, COUNT(DISTINCT l.lock_data)
          FROM performance_schema.data_locks AS l
          JOIN performance_schema.threads AS t ON t.thread_id = l.thread_id
          WHERE t.processlist_id = CONNECTION_ID() AND l.lock_type = 'RECORD'
          GROUP BY l.object_name, l.index_name, l.lock_mode
          ORDER BY l.object_name`)
        locked = rows.map((row) => [...row])
        // Another connection gets at every other account without waiting, and at none of these.
        const others = await ledger.database.withSession((other) =>
          other.run('START TRANSACTION; SELECT business_key FROM account FOR UPDATE SKIP LOCKED; ROLLBACK'),
        )
        const free = others[1] ?? []
        const names = new Set(free.map(([name]) => (name as Buffer).toString()))
        expect(names.size).toBe(accounts - 3)
        for (const mine of ['key-1', 'key-5', 'key-7', '@external/0']) expect(names.has(mine)).toBe(false)
      },
    })
    await ledger.adjudicator({ database }).judge(ledger.batch([{ key: 'key-7' }, { key: 'key-1' }, { key: 'key-5' }, { key: 'key-1' }]))
    expect(locked).toEqual([
      ['account', 'PRIMARY', 'X,REC_NOT_GAP', '4'],
      ['applied_offset', 'PRIMARY', 'X,REC_NOT_GAP', '1'],
      ['owned_bucket', 'PRIMARY', 'S,REC_NOT_GAP', '1'],
    ])
  })
})
