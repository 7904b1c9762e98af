import mysql from 'mysql2/promise'
import { StoreMisconfigured } from './errors.ts'

const DATABASE_NAME = /^[A-Za-z0-9_]{1,64}$/
const TIMEOUT_MS = 10_000

/**
 * Creates the database that a URL names, where it does not exist yet.
 * @throws StoreMisconfigured `DATABASE_NAME` when the URL names none, or one with other characters than letters, digits and `_`.
 */
export async function createDatabase(url: string): Promise<void> {
  const { name, server } = splitUrl(url)
  const connection = await mysql.createConnection({ uri: server, connectTimeout: TIMEOUT_MS })
  try {
    await connection.query({
      sql: `CREATE DATABASE IF NOT EXISTS \`${name}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
      timeout: TIMEOUT_MS,
    })
  } finally {
    connection.destroy()
  }
}

/** The same server and credentials, another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}

/** Where the control schema is kept unless it is told otherwise: beside the first shard, as `<database>_control`. */
export function defaultControlUrl(firstShardUrl: string): string {
  return withDatabase(firstShardUrl, `${new URL(firstShardUrl).pathname.slice(1)}_control`)
}

function splitUrl(url: string): { name: string; server: string } {
  const name = new URL(url).pathname.slice(1)
  if (!DATABASE_NAME.test(name))
    throw new StoreMisconfigured('DATABASE_NAME', `the MySQL URL must end in a database name of letters, digits and "_", got "${name}"`)
  return { name, server: withDatabase(url, '') }
}
