import mysql from 'mysql2/promise'
import { StoreMisconfigured } from './errors.ts'
import { classifyFault, isDatabaseFault } from './fault.ts'

/** One row of a result, as an array of columns: BIGINT as string, BINARY as Buffer. */
export type Row = readonly unknown[]

/** A configured connection, borrowed for one transaction. */
export interface Session {
  /** Sends one packet of statements and returns the rows of each; statements without rows give an empty array. */
  run(sql: string): Promise<Row[][]>
}

export interface ShardDatabase {
  /** Lends a session for as long as `work` runs. After an error the session is rolled back or, where that is not sure, destroyed. */
  withSession<T>(work: (session: Session) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface ShardDatabaseOptions {
  /** `mysql://user:password@host:port/database` */
  readonly url: string
  readonly connectionsMax: number
  readonly connectTimeoutMs?: number
  /** Bound on every packet sent; past it the connection is destroyed and its transaction is in doubt. */
  readonly queryTimeoutMs?: number
}

const CONNECT_TIMEOUT_MS = 5_000
const QUERY_TIMEOUT_MS = 15_000
/** Shorter than the session's wait_timeout, so that the pool never lends a connection that the server has just closed. */
const IDLE_TIMEOUT_MS = 15_000
const QUEUE_MAX = 1_000

/**
 * Room for one message of a MEDIUMBLOB's 16 MiB in hex digits. A server answers a larger packet than its max_allowed_packet by closing
 * the connection, which looks like a lost one, so the bound is kept on this side.
 */
export const PACKET_BYTES_MAX = 48 * 1024 * 1024

/** wait_timeout bounds how long a lost client can hold its locks. */
const SESSION_SETUP = `SET SESSION
  transaction_isolation = 'READ-COMMITTED',
  sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION',
  time_zone = '+00:00',
  innodb_lock_wait_timeout = 5,
  lock_wait_timeout = 5,
  wait_timeout = 30,
  unique_checks = 1,
  foreign_key_checks = 1`
const SESSION_CHECK = `SELECT
  @@session.transaction_isolation = 'READ-COMMITTED'
    AND FIND_IN_SET('STRICT_TRANS_TABLES', @@session.sql_mode) > 0
    AND @@session.unique_checks = 1
    AND @@session.wait_timeout <= 30
    AND @@session.max_allowed_packet >= ${PACKET_BYTES_MAX}
    AND @@session.autocommit = 1`

/**
 * A pool whose sessions are set up and *verified* before their first use (isolation, strict mode, unique checks). Durability settings of
 * the server are checked by `checkDurability`.
 */
export function openShardDatabase(options: ShardDatabaseOptions): ShardDatabase {
  const pool = mysql.createPool({
    uri: options.url,
    connectionLimit: options.connectionsMax,
    maxIdle: options.connectionsMax,
    idleTimeout: IDLE_TIMEOUT_MS,
    queueLimit: QUEUE_MAX,
    connectTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    multipleStatements: true,
    // Statements carry their literals; looking for placeholders in them costs time and could only find wrong ones.
    queryFormat: (sql: string) => sql,
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    charset: 'utf8mb4',
    enableKeepAlive: true,
  })
  const ready = new WeakSet<object>()
  const timeout = options.queryTimeoutMs ?? QUERY_TIMEOUT_MS

  async function send(connection: mysql.PoolConnection, sql: string): Promise<Row[][]> {
    const [results, fields] = await connection.query({ sql, rowsAsArray: true, timeout })
    return toResults(results, fields)
  }

  async function prepare(connection: mysql.PoolConnection): Promise<void> {
    if (ready.has(connection.connection)) return
    const [, checked] = await send(connection, `${SESSION_SETUP};${SESSION_CHECK}`)
    if (Number(checked?.[0]?.[0]) !== 1)
      throw new StoreMisconfigured(
        'SESSION_UNSAFE',
        `the server did not accept the session settings that adjudication depends on, or its max_allowed_packet is below ${PACKET_BYTES_MAX}`,
      )
    ready.add(connection.connection)
  }

  return {
    async withSession(work) {
      const connection = await pool.getConnection()
      try {
        await prepare(connection)
        const result = await work({ run: (sql) => send(connection, sql) })
        connection.release()
        return result
      } catch (error) {
        await giveBack(connection, error)
        throw error
      }
    },
    async close() {
      try {
        await pool.end()
      } catch (error) {
        // A connection that is gone already needs no goodbye.
        if (!isDatabaseFault(error)) throw error
      }
    },
  }
}

/** Nothing may be sent after an error but ROLLBACK: a BEGIN on an open transaction would commit it. */
async function giveBack(connection: mysql.PoolConnection, error: unknown): Promise<void> {
  if (isDatabaseFault(error) && !classifyFault(error).connectionUsable) return connection.destroy()
  try {
    await connection.query({ sql: 'ROLLBACK', timeout: CONNECT_TIMEOUT_MS })
    connection.release()
  } catch {
    // The server ends the transaction itself when it notices the closed connection.
    connection.destroy()
  }
}

/** mysql2 answers one statement with its rows and columns, several with an array of each; a statement without rows has no columns. */
function toResults(results: unknown, fields: unknown): Row[][] {
  if (!Array.isArray(fields)) return [[]]
  const one = fields[0] !== undefined && !Array.isArray(fields[0])
  if (one) return [results as Row[]]
  return (results as unknown[]).map((result) => (Array.isArray(result) ? (result as Row[]) : []))
}
