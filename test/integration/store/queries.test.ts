import {
  type AccountPoint,
  type AggregateName,
  type AuditSubject,
  findAccounts,
  findAudits,
  findSequence,
  findWaiting,
  loadGaps,
  type ShardDatabase,
} from '@onceledger/ledger-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandSpec, createStoreLedger, type StoreLedger, uuidv7 } from '../../support/store-ledger.ts'
import { verdictsOf } from './outcomes.ts'
import { watchedDatabase } from './watched-database.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

const nameOf = (businessKey: string): AggregateName => ({ tenantId: 'bank', tenantNo: ledger.names.tenantNo('bank'), businessKey })

async function judge(specs: readonly CommandSpec[], nowUs?: () => bigint): Promise<string[]> {
  return verdictsOf(await ledger.adjudicator(nowUs === undefined ? {} : { nowUs }).judge(ledger.batch(specs)))
}

/** Statements that a question sent. */
async function statementsOf(ask: (database: ShardDatabase) => Promise<unknown>): Promise<string[]> {
  const statements: string[] = []
  await ask(watchedDatabase(ledger.database, { beforePacket: (sql) => void statements.push(sql) }))
  return statements
}

describe('the history of an account', () => {
  const START_US = BigInt(Date.now()) * 1000n + 1n
  const deposit = (amount: string): CommandSpec => ({ data: { amount, currency: 'CZK' } })
  const credit = (amount: string): CommandSpec => ({ ...deposit(amount), type: 'credit' })
  const tooMuch: CommandSpec = { ...deposit('999999'), type: 'withdraw' }

  /** Batches of one to three postings, judged by operation and by event, with refusals among them; a batch has one time. */
  async function fill(batches: number): Promise<{ version: bigint; balance: bigint; timeUs: bigint }[]> {
    const history: { version: bigint; balance: bigint; timeUs: bigint }[] = []
    let balance = 0n
    for (let batch = 0; batch < batches; batch++) {
      const timeUs = START_US + BigInt(batch * 2)
      const amounts = Array.from({ length: 1 + (batch % 3) }, (_, i) => BigInt(1 + ((batch * 7 + i) % 11)))
      const specs = amounts.map((amount, i) => (i % 2 === 0 ? deposit : credit)(amount.toString()))
      await judge([...specs, tooMuch], () => timeUs)
      for (const amount of amounts) {
        balance += amount
        history.push({ version: BigInt(history.length + 1), balance, timeUs })
      }
    }
    return history
  }

  const at = async (upTo: AccountPoint, database = ledger.database): Promise<string> => {
    const [account] = await findAccounts(database, nameOf('alice'), { postingsMax: 2, upTo })
    const [last, before] = account?.postings ?? []
    expect(before?.accountVersion).toBe(last === undefined || last.accountVersion === 1n ? undefined : last.accountVersion - 1n)
    return `${last?.accountVersion ?? 0n}: ${last?.balanceAfterMinor ?? 0n}`
  }

  it('[IDN-7] is found at every version and at every microsecond, in a number of lookups that hardly grows', async () => {
    const history = await fill(40)
    const standing = (wanted: (row: (typeof history)[number]) => boolean): string => {
      const last = history.findLast(wanted)
      return `${last?.version ?? 0n}: ${last?.balance ?? 0n}`
    }
    for (let version = 0n; version <= BigInt(history.length) + 2n; version++)
      expect(await at({ version })).toBe(standing((row) => row.version <= version))
    for (let timeUs = START_US - 1n; timeUs <= START_US + 81n; timeUs++)
      expect(await at({ timeUs })).toBe(standing((row) => row.timeUs <= timeUs))
    const statements = await statementsOf((database) => at({ timeUs: START_US + 33n }, database))
    expect(statements.length).toBeLessThanOrEqual(2 + Math.ceil(Math.log2(history.length + 1)))
  })

  it('is read from the end of its index, whatever its length', async () => {
    for (let i = 0; i < 4; i++) await judge(Array.from({ length: 500 }, () => deposit('1')))
    await ledger.rows('ANALYZE TABLE operation, posting')
    const statements = await statementsOf((database) => at({ version: 1_000n }, database))
    const plan = await ledger.value(`EXPLAIN FORMAT=TREE ${statements.at(-1)}`)
    expect(plan).toMatch(/Index range scan on operation using history over .*\(reverse\)/)
    expect(plan).not.toMatch(/Table scan on (operation|posting)|Sort.*operation/)
    const [read] = await ledger.database.withSession((session) =>
      session.run(`FLUSH STATUS; ${statements.at(-1)}; SHOW SESSION STATUS LIKE 'Handler_read_prev'`).then((results) => results.slice(-1)),
    )
    expect(Number(read?.[0]?.[1])).toBeLessThan(10)
  })
})

describe('refused uses of an identity', () => {
  const entry = (key: string, version: number, amount: string, more: CommandSpec = {}): CommandSpec => ({
    type: 'entry',
    key,
    operationId: `entry-${version}`,
    aggregateVersion: BigInt(version),
    data: { amount, currency: 'CZK' },
    ...more,
  })
  const open = (key: string): CommandSpec => ({ type: 'open', key, operationId: 'open', data: { currency: 'CZK', overdraftLimit: '50' } })
  const operation = (businessKey: string | null, type: string, operationId: string): AuditSubject => ({
    kind: 'operation',
    tenantNo: ledger.names.tenantNo('bank'),
    type,
    typeNo: ledger.names.operationTypeNo(type),
    operationId,
    ...(businessKey === null ? {} : { aggregate: nameOf(businessKey) }),
  })
  const keysOf = async (subject: AuditSubject): Promise<string[]> =>
    (await findAudits(ledger.database, subject)).map(({ businessKey, operationId, intent, seenCount }) =>
      [businessKey, operationId, intent.amount, seenCount].join(' '),
    )

  it('[IDN-6] are found by the operation, its version and the event, and are nobody else’s', async () => {
    const eventId = uuidv7()
    const other = entry('ann', 1, '7', { eventId })
    await judge([open('ann'), entry('ann', 1, '5'), open('ben'), entry('ben', 1, '5')])
    expect(await judge([other, entry('ann', 1, '9', { operationId: 'rival' }), entry('ben', 1, '8')])).toEqual(
      Array.from({ length: 3 }, () => 'CONFLICT'),
    )
    await judge([other])
    expect(await keysOf(operation('ann', 'entry', 'entry-1'))).toEqual(['ann entry-1 7 2', 'ann rival 9 1'])
    expect(await keysOf(operation('ann', 'entry', 'rival'))).toEqual(['ann rival 9 1'])
    expect(await keysOf(operation('ann', 'deposit', 'entry-1'))).toEqual([])
    expect(await keysOf({ kind: 'event', aggregate: nameOf('ann'), consumerNo: ledger.names.consumerNo('ledger'), eventId })).toEqual([
      'ann entry-1 7 2',
    ])
  })

  it('are looked up without a scan among thousands of others', async () => {
    const uses = Array.from({ length: 1_000 }, (_, i): CommandSpec => ({ key: 'ann', operationId: `deposit-${i}` }))
    const refused = uses.map((spec): CommandSpec => ({ ...spec, data: { amount: '101', currency: 'CZK' } }))
    await judge(uses)
    await judge(refused)
    await judge(refused)
    await ledger.rows('ANALYZE TABLE conflict_audit')
    const event: AuditSubject = {
      kind: 'event',
      aggregate: nameOf('ann'),
      consumerNo: ledger.names.consumerNo('ledger'),
      eventId: uuidv7(),
    }
    for (const subject of [operation('ann', 'deposit', 'deposit-500'), operation(null, 'deposit', 'deposit-500'), event]) {
      const [sql = ''] = await statementsOf((database) => findAudits(database, subject))
      const plan = await ledger.value(`EXPLAIN FORMAT=TREE ${sql}`)
      expect(plan).not.toMatch(/(Table|Index) scan on conflict_audit/)
      const [read] = await ledger.database.withSession((session) =>
        session.run(`FLUSH STATUS; ${sql}; SHOW SESSION STATUS LIKE 'Handler_read_next'`).then((results) => results.slice(-1)),
      )
      expect(Number(read?.[0]?.[1])).toBeLessThan(10)
    }
    expect(await keysOf(operation('ann', 'deposit', 'deposit-500'))).toEqual(['ann deposit-500 101 1', 'ann deposit-500 101 1'])
  })

  it('[ORD-3] a key whose very first command waits is a gap with a head of zero', async () => {
    const eventId = uuidv7()
    expect(await judge([entry('dora', 3, '5', { eventId })])).toEqual(['DEFERRED'])
    expect(await findSequence(ledger.database, nameOf('dora'))).toEqual({ headVersion: 0n, waiting: 1 })
    expect(await loadGaps(ledger.database, { limit: 10 })).toMatchObject([
      { businessKey: 'dora', headVersion: 0n, missing: [{ from: 1n, to: 2n }], waiting: 1, requests: 0 },
    ])
    expect(await findWaiting(ledger.database, nameOf('dora'), ledger.names.consumerNo('ledger'), eventId)).toMatchObject([
      { version: 3n, operationId: 'entry-3', partition: 0 },
    ])
    const [sql] = await statementsOf((database) => loadGaps(database, { limit: 10 }))
    const plan = await ledger.value(`EXPLAIN FORMAT=TREE ${sql}`)
    // Payloads are large, and the keys that wait are few among all.
    expect(plan).toMatch(/Covering index scan on deferred using age/)
    expect(plan).toMatch(/Single-row index lookup on h using PRIMARY/)
  })
})
