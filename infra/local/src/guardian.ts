import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StackError } from './errors.ts'
import { withFileLock } from './file-lock.ts'
import type { CommandWatch } from './run-command.ts'
import type { ProcessIdentity } from './server-process.ts'

const GUARDIAN_MAIN = fileURLToPath(new URL('./guardian-main.ts', import.meta.url))

/** Longer than a guardian takes to end its servers. */
const OTHER_GUARDIAN_TIMEOUT_MS = 20_000

/** What the guardian is told, one JSON object a line. */
type GuardianMessage =
  | { readonly kind: 'guard'; readonly identity: ProcessIdentity }
  | { readonly kind: 'command-started'; readonly pid: number; readonly marker: string }
  | { readonly kind: 'command-ended'; readonly pid: number }
  | { readonly kind: 'release' }

/**
 * A small process beside this one that ends the servers it was told of when this process is gone,
 * however it went: it reads from a pipe whose other end only this process holds, and the kernel
 * closes that end even after SIGKILL.
 */
export interface Guardian extends CommandWatch {
  /** Say it before the server is launched, so that there is no moment without a guard. */
  readonly guard: (identity: ProcessIdentity) => void
  /** Lets the guardian go without ending anything. */
  readonly release: () => Promise<void>
}

/** Held by a guardian as long as it lives. */
export function guardianLockPath(stackDir: string): string {
  return join(stackDir, 'guardian.lock')
}

/**
 * Waits until no other guardian works on this folder. The one of a program that has just died may
 * still be ending its servers, which would otherwise be taken for running ones.
 *
 * @throws StackError IN_USE when a living program owns the servers of this folder.
 */
export async function waitForOtherGuardian(stackDir: string, signal: AbortSignal | undefined): Promise<void> {
  try {
    const options = { timeoutMs: OTHER_GUARDIAN_TIMEOUT_MS, signal }
    await withFileLock(guardianLockPath(stackDir), options, async () => undefined)
  } catch (error) {
    if (error instanceof StackError && error.code === 'LOCK_TIMEOUT') {
      throw new StackError(
        'IN_USE',
        `the servers in ${stackDir} belong to another program that still runs. ` +
          'Wait for it, or set ONCELEDGER_STACK_DIR to another folder.',
        { cause: error },
      )
    }
    throw error
  }
}

export function startGuardian(stackDir: string): Guardian {
  const log = openSync(join(stackDir, 'guardian.log'), 'a')
  // A session of its own: what ends this program's process group must not end its guardian.
  const child = spawn(process.execPath, ['--no-warnings', GUARDIAN_MAIN, stackDir], {
    stdio: ['pipe', log, log],
    detached: true,
  })
  closeSync(log)
  const { stdin } = child
  if (stdin === null) {
    throw new StackError('START_FAILED', 'the guardian was started without a pipe')
  }
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.once('error', () => resolve())
  })
  stdin.on('error', () => undefined)
  child.unref()
  const send = (message: GuardianMessage) => {
    if (!stdin.writable) {
      throw new StackError('START_FAILED', `the guardian of ${stackDir} has ended; see guardian.log`)
    }
    stdin.write(`${JSON.stringify(message)}\n`)
  }
  return {
    guard: (identity) => send({ kind: 'guard', identity }),
    onStart: (pid, marker) => send({ kind: 'command-started', pid, marker }),
    onEnd: (pid) => send({ kind: 'command-ended', pid }),
    release: async () => {
      if (stdin.writable) {
        send({ kind: 'release' })
        stdin.end()
      }
      child.ref()
      await ended
    },
  }
}
