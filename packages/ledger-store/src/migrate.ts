import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { StoreMisconfigured, StoreUnavailable } from './errors.ts'
import type { Session, ShardDatabase } from './session.ts'
import { bytesLiteral, textLiteral } from './sql/literal.ts'

export type SchemaKind = 'control' | 'shard'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/
/** Below the time-out of a packet, so that a busy lock is reported as one. */
const LOCK_WAIT_S = 10

/** The numbered files of one schema, in order. They are never edited after a release: their digests are stored and compared. */
export async function loadMigrations(kind: SchemaKind): Promise<Migration[]> {
  const folder = new URL(`../schema/${kind}/`, import.meta.url)
  const migrations: Migration[] = []
  for (const file of (await readdir(folder)).sort()) {
    const parts = FILE_NAME.exec(file)
    if (parts === null) throw new StoreMisconfigured('MIGRATION_NAME', `schema/${kind}/${file} is not named like 0001_what_it_does.sql`)
    migrations.push({ version: Number(parts[1]), name: file, sql: await readFile(new URL(file, folder), 'utf8') })
  }
  return migrations
}

/**
 * Brings a database to the newest version, one migration after the other, under a server-wide lock on its name. DDL commits by itself,
 * so a migration interrupted half way is reported and not repeated blindly.
 * @returns names of the migrations that were run now.
 */
export async function migrate(database: ShardDatabase, kind: SchemaKind, nowUs: bigint): Promise<string[]> {
  const migrations = await loadMigrations(kind)
  return database.withSession(async (session) => {
    await lock(session)
    try {
      await session.run(`CREATE TABLE IF NOT EXISTS schema_migration (
        version    INT UNSIGNED NOT NULL,
        name       VARBINARY(128) NOT NULL,
        digest     BINARY(32) NOT NULL,
        started_at BIGINT NOT NULL,
        finished   BOOLEAN NOT NULL DEFAULT FALSE,
        PRIMARY KEY (version)
      ) ENGINE = InnoDB`)
      return await runMissing(session, migrations, nowUs)
    } finally {
      await session.run(`SELECT RELEASE_LOCK(CONCAT('onceledger.migrate.', LEFT(DATABASE(), 40)))`)
    }
  })
}

async function lock(session: Session): Promise<void> {
  const [rows] = await session.run(`SELECT GET_LOCK(CONCAT('onceledger.migrate.', LEFT(DATABASE(), 40)), ${LOCK_WAIT_S})`)
  if (Number(rows?.[0]?.[0]) !== 1)
    throw new StoreUnavailable('MIGRATION_LOCKED', 'another process is migrating this database; try again when it is done')
}

async function runMissing(session: Session, migrations: readonly Migration[], nowUs: bigint): Promise<string[]> {
  const done = await appliedMigrations(session)
  assertNotNewer(migrations, done)
  const ran: string[] = []
  for (const migration of migrations) {
    const stored = done.get(migration.version)
    if (stored !== undefined) {
      assertSame(migration, stored)
      continue
    }
    const digest = digestOf(migration)
    await session.run(`INSERT INTO schema_migration (version, name, digest, started_at)
      VALUES (${migration.version}, ${textLiteral(migration.name)}, ${bytesLiteral(digest)}, ${nowUs})`)
    await session.run(migration.sql)
    await session.run(`UPDATE schema_migration SET finished = TRUE WHERE version = ${migration.version}`)
    ran.push(migration.name)
  }
  return ran
}

interface AppliedMigration {
  readonly digest: Buffer
  readonly finished: boolean
}

async function appliedMigrations(session: Session): Promise<Map<number, AppliedMigration>> {
  const [rows = []] = await session.run('SELECT version, digest, finished FROM schema_migration ORDER BY version')
  return new Map(
    rows.map(([version, digest, finished]) => [Number(version), { digest: digest as Buffer, finished: Number(finished) === 1 }]),
  )
}

function assertNotNewer(migrations: readonly Migration[], done: ReadonlyMap<number, AppliedMigration>): void {
  const unknown = [...done.keys()].filter((version) => !migrations.some((migration) => migration.version === version))
  if (unknown.length > 0)
    throw new StoreMisconfigured(
      'SCHEMA_NEWER',
      `the database has migrations ${unknown.join(', ')} that this release does not know; use a newer release`,
    )
}

function assertSame(migration: Migration, stored: AppliedMigration): void {
  if (!stored.finished)
    throw new StoreMisconfigured(
      'MIGRATION_HALF_DONE',
      `${migration.name} was interrupted; compare the schema with the file, finish it by hand, then set finished = 1`,
    )
  if (!stored.digest.equals(digestOf(migration)))
    throw new StoreMisconfigured(
      'MIGRATION_EDITED',
      `${migration.name} was run in another wording; migrations are never edited, add a new one`,
    )
}

function digestOf(migration: Migration): Buffer {
  return createHash('sha256').update(migration.sql).digest()
}

/** @throws StoreMisconfigured when the database was not brought to exactly the version of this release. */
export async function assertMigrated(database: ShardDatabase, kind: SchemaKind): Promise<void> {
  const migrations = await loadMigrations(kind)
  await database.withSession(async (session) => {
    const [exists] = await session.run(`SELECT COUNT(*)
      FROM information_schema.tables
      WHERE table_schema = DATABASE() AND table_name = 'schema_migration'`)
    const done = Number(exists?.[0]?.[0]) === 1 ? await appliedMigrations(session) : new Map<number, AppliedMigration>()
    assertNotNewer(migrations, done)
    const missing = migrations.filter((migration) => !done.has(migration.version))
    if (missing.length > 0)
      throw new StoreMisconfigured(
        'SCHEMA_OLD',
        `the ${kind} database lacks ${missing.map(({ name }) => name).join(', ')}; run: ledgerctl migrate`,
      )
    for (const migration of migrations) {
      const stored = done.get(migration.version)
      if (stored !== undefined) assertSame(migration, stored)
    }
  })
}
