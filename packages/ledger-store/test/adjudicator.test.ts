import { Bug } from '@onceledger/core'
import { describe, expect, it } from 'vitest'
import { type Adjudicator, createAdjudicator } from '../src/adjudicator.ts'
import { NO_FAILPOINTS } from '../src/batch-transaction.ts'
import { StoreMisconfigured } from '../src/errors.ts'
import { batchOf, commands, type FakeDatabase, fakeDatabase, fakeNames, NOW_US, registry, serverError } from './builders.ts'

interface Rig {
  readonly adjudicator: Adjudicator
  readonly database: FakeDatabase
  readonly sleepsMs: number[]
  readonly retries: string[]
  readonly poisons: string[]
}

/** An adjudicator over a fake database that fails the n-th write packet with the n-th error, and then no more. */
function rigOf(errors: readonly (Error | null)[], onWrite: (sql: string) => void = () => undefined): Rig {
  let writes = 0
  const database = fakeDatabase((sql) => {
    if (!sql.endsWith('COMMIT')) return
    const error = errors[writes++]
    if (error instanceof Error) throw error
    onWrite(sql)
  })
  const [sleepsMs, retries, poisons]: [number[], string[], string[]] = [[], [], []]
  const adjudicator = createAdjudicator({
    database,
    names: fakeNames(),
    registry,
    nowUs: () => NOW_US,
    bucketCount: 4,
    publishing: false,
    failpoints: NO_FAILPOINTS,
    random: () => 1,
    sleep: async (ms) => void sleepsMs.push(ms),
    observer: { onRetry: (code) => retries.push(code), onPoison: (_item, code) => poisons.push(code) },
  })
  return { adjudicator, database, sleepsMs, retries, poisons }
}

const repeat = (error: Error, times: number): Error[] => Array.from({ length: times }, () => error)
const writesOf = (database: FakeDatabase): string[] => database.packets.filter((sql) => sql.endsWith('COMMIT'))

describe('the adjudicator', () => {
  it.each([1213, 1205, 1290, 1053])(
    '[ADJ-4] %i: six attempts, five growing waits, then StoreUnavailable; nothing is parked',
    async (errno) => {
      const { adjudicator, database, sleepsMs, retries } = rigOf(repeat(serverError(errno), 100))
      await expect(adjudicator.judge(batchOf(commands(3)))).rejects.toMatchObject({ name: 'StoreUnavailable', code: String(errno) })
      expect(retries).toEqual(Array.from({ length: 6 }, () => String(errno)))
      expect(sleepsMs).toEqual([40, 80, 160, 320, 640])
      expect(writesOf(database)).toHaveLength(6)
      expect(writesOf(database).filter((sql) => sql.includes('INTO parked'))).toEqual([])
    },
  )

  it('[ADJ-4] a transient fault that passes leaves no trace but the retry', async () => {
    const { adjudicator, retries } = rigOf([serverError(1213), serverError(1290)])
    expect(await adjudicator.judge(batchOf(commands(3)))).toMatchObject({ kind: 'committed', nextOffset: 3n })
    expect(retries).toEqual(['1213', '1290'])
  })

  it('[ADJ-2] [ADJ-4] a duplicate key on an unread batch is read at once, without a wait', async () => {
    const { adjudicator, database, sleepsMs } = rigOf([serverError(1062)])
    await adjudicator.judge(batchOf(commands(2)))
    expect(sleepsMs).toEqual([])
    expect(database.packets.map((sql) => sql.includes('JOIN operation'))).toEqual([false, false, true, false])
  })

  it('[ADJ-3] whatever the fault, what follows it is judged with reads', async () => {
    const { adjudicator, database } = rigOf([Object.assign(new Error('lost'), { code: 'PROTOCOL_CONNECTION_LOST' })])
    await adjudicator.judge(batchOf(commands(2)))
    expect(database.packets.map((sql) => sql.includes('JOIN operation'))).toEqual([false, false, true, false])
  })

  it('[ADJ-4] [ADJ-7] a single duplicate key among other faults parks nothing', async () => {
    const { adjudicator, poisons } = rigOf([...repeat(serverError(1205), 5), serverError(1062)])
    await expect(adjudicator.judge(batchOf(commands(1)))).rejects.toMatchObject({ name: 'StoreUnavailable', code: '1062' })
    expect(poisons).toEqual([])
  })

  it('[ADJ-7] a data fault is looked for at once by halving, and only its message is parked', async () => {
    const bad = Buffer.from('event-5').toString('hex')
    const { adjudicator, database, poisons, retries, sleepsMs } = rigOf([], (sql) => {
      if (sql.includes(`x'00${bad}'`)) throw serverError(3819)
    })
    const outcome = await adjudicator.judge(batchOf(commands(8)))
    expect(outcome).toMatchObject({ kind: 'committed', nextOffset: 8n })
    expect(outcome.kind === 'committed' && outcome.judgements.map(({ verdict }) => verdict)).toEqual(
      Array.from({ length: 8 }, (_, i) => (i === 5 ? 'PARKED' : 'APPLIED')),
    )
    expect([poisons, retries, sleepsMs]).toEqual([['SQL_3819'], [], []])
    // 8, 4, 4, 2, 1, 1, parked, 2.
    expect(writesOf(database)).toHaveLength(8)
  })

  it('[ADJ-7] [ADJ-8] a fault behind a finished half reports the finished half', async () => {
    const { adjudicator } = rigOf([serverError(3819), null, ...repeat(serverError(1205), 100)])
    expect(await adjudicator.judge(batchOf(commands(4)))).toMatchObject({ kind: 'committed', nextOffset: 2n })
  })

  it('[ADJ-10] a message that can be neither judged nor parked surfaces as unavailable', async () => {
    const { adjudicator } = rigOf(repeat(serverError(1406), 100))
    await expect(adjudicator.judge(batchOf(commands(1)))).rejects.toMatchObject({ name: 'StoreUnavailable', code: 'SQL_1406' })
  })

  it('[ADJ-8] an empty stretch of the log that cannot be stored surfaces as unavailable', async () => {
    const { adjudicator } = rigOf(repeat(serverError(1406), 100))
    await expect(adjudicator.judge({ ...batchOf([]), source: { ...batchOf([]).source, nextOffset: 5n } })).rejects.toMatchObject({
      name: 'StoreUnavailable',
    })
  })

  it.each([
    ['a wrong setting', new StoreMisconfigured('SESSION_UNSAFE', 'unsafe'), 'SESSION_UNSAFE'],
    ['an unknown server error', serverError(1054), '1054'],
    ['a bug', new Bug('a bug'), 'UNKNOWN'],
  ])('[ADJ-4] %s is tried once and parks nothing', async (_case, error, code) => {
    const { adjudicator, database, poisons } = rigOf(repeat(error, 100))
    await expect(adjudicator.judge(batchOf(commands(2)))).rejects.toMatchObject({ name: 'StoreUnavailable', code })
    expect(writesOf(database)).toHaveLength(1)
    expect(poisons).toEqual([])
  })
})
