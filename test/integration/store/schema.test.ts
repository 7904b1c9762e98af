import { randomBytes } from 'node:crypto'
import {
  assertMigrated,
  createDatabase,
  loadMigrations,
  migrate,
  openShardDatabase,
  type ShardDatabase,
  StoreMisconfigured,
  withDatabase,
} from '@onceledger/ledger-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nowUs, serverUrl } from '../../support/store-ledger.ts'

let database: ShardDatabase
let name: string
beforeEach(async () => {
  name = `schema_${randomBytes(6).toString('hex')}`
  const url = withDatabase(serverUrl(), name)
  await createDatabase(url)
  database = openShardDatabase({ url, connectionsMax: 4 })
})
afterEach(async () => {
  await database.withSession((session) => session.run(`DROP DATABASE ${name}`))
  await database.close()
})

async function run(sql: string): Promise<void> {
  await database.withSession((session) => session.run(sql))
}

const KINDS = ['shard', 'control'] as const

describe('migrations', () => {
  it.each(KINDS)('of the %s schema run once and are then found done', async (kind) => {
    const names = (await loadMigrations(kind)).map((migration) => migration.name)
    await expect(assertMigrated(database, kind)).rejects.toMatchObject({ code: 'SCHEMA_OLD' })
    expect(await migrate(database, kind, nowUs())).toEqual(names)
    expect(await migrate(database, kind, nowUs())).toEqual([])
    await assertMigrated(database, kind)
  })

  it('two runners at once do the work once', async () => {
    const ran = await Promise.all([
      migrate(database, 'shard', nowUs()),
      migrate(database, 'shard', nowUs()),
      migrate(database, 'shard', nowUs()),
    ])
    expect(ran.flat()).toEqual((await loadMigrations('shard')).map((migration) => migration.name))
    await assertMigrated(database, 'shard')
  })

  it.each([
    ['edited since', `UPDATE schema_migration SET digest = REPEAT('x', 32)`, 'MIGRATION_EDITED'],
    ['half done', 'UPDATE schema_migration SET finished = FALSE', 'MIGRATION_HALF_DONE'],
    ['of a newer release', `INSERT INTO schema_migration VALUES (9999, '9999_later.sql', REPEAT('x', 32), 1, TRUE)`, 'SCHEMA_NEWER'],
  ])('that are %s are refused with a way out', async (_case, damage, code) => {
    await migrate(database, 'shard', nowUs())
    await run(damage)
    await expect(migrate(database, 'shard', nowUs())).rejects.toMatchObject({ name: 'StoreMisconfigured', code })
    await expect(assertMigrated(database, 'shard')).rejects.toBeInstanceOf(StoreMisconfigured)
  })

  it('the lock is free again after a refusal', async () => {
    await migrate(database, 'shard', nowUs())
    await run('UPDATE schema_migration SET finished = FALSE')
    await expect(migrate(database, 'shard', nowUs())).rejects.toMatchObject({ code: 'MIGRATION_HALF_DONE' })
    await run('UPDATE schema_migration SET finished = TRUE')
    expect(await migrate(database, 'shard', nowUs())).toEqual([])
  })

  it('a database name that could carry SQL is refused', async () => {
    await expect(createDatabase(withDatabase(serverUrl(), 'x`y'))).rejects.toMatchObject({ code: 'DATABASE_NAME' })
    await expect(createDatabase(withDatabase(serverUrl(), ''))).rejects.toMatchObject({ code: 'DATABASE_NAME' })
  })
})
