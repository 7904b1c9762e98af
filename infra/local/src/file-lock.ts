import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StackError } from './errors.ts'
import { pollUntil } from './poll.ts'

export interface LockOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** Called once when another process holds the lock. */
  readonly onWait?: () => void
}

/** SQLITE_BUSY, https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5

/**
 * Runs `work` while holding an exclusive lock on `path`.
 *
 * The lock is SQLite's own exclusive file lock on an empty database: the kernel lets it go when the
 * process dies, however it dies, and it needs no program that the machine may not have.
 *
 * @throws StackError LOCK_TIMEOUT when another process held it for `timeoutMs`.
 */
export async function withFileLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true })
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    let told = false
    const taken = await pollUntil(
      () => {
        if (tryLock(database)) {
          return true
        }
        if (!told) {
          told = true
          options.onWait?.()
        }
        return false
      },
      { timeoutMs: options.timeoutMs, intervalMs: 100, signal: options.signal },
    )
    if (!taken) {
      throw new StackError('LOCK_TIMEOUT', `another process held ${path} for ${options.timeoutMs / 1000} s`)
    }
    return await work()
  } finally {
    database.close()
  }
}

function tryLock(database: DatabaseSync): boolean {
  try {
    // In memory: a journal file would be left behind by a process that was killed.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) {
      return false
    }
    throw error
  }
}
