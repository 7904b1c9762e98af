import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { StackError, systemCodeOf } from './errors.ts'
import { pollUntil, throwIfInterrupted } from './poll.ts'
import { type CommandControl, tailOf } from './run-command.ts'
import { findRunning, launch, type ProcessIdentity } from './server-process.ts'
import type { Server } from './servers/server.ts'

/** Generous: a loaded machine needs half a minute for what an idle one does in three seconds. */
const HEALTHY_TIMEOUT_MS = 120_000
const HEALTH_INTERVAL_MS = 100
const LOG_LINES = 15
const LOG_TAIL_BYTES = 16_384

export interface StartServerOptions {
  readonly onProgress: (line: string) => void
  readonly control: CommandControl
  /** Called before the process exists, so that whoever has to end it knows of it in time. */
  readonly onLaunch: (identity: ProcessIdentity) => void
}

/**
 * Brings one server to the point where it answers a real request; a running one is left as it is.
 *
 * @throws StackError START_FAILED with the end of its log, or INTERRUPTED.
 */
export async function startServer(server: Server, options: StartServerOptions): Promise<void> {
  const { signal } = options.control
  const startedAtMs = performance.now()
  if (findRunning(server.command) !== undefined) {
    await waitUntilHealthy(server, () => findRunning(server.command) === undefined, signal)
    return
  }
  await server.prepare(options.control)
  throwIfInterrupted(signal)
  options.onLaunch(server.command)
  const launched = launch(server.command)
  await waitUntilHealthy(server, launched.hasExited, signal)
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1)
  options.onProgress(`${server.service}: up after ${seconds} s`)
}

async function waitUntilHealthy(server: Server, hasExited: () => boolean, signal: AbortSignal | undefined): Promise<void> {
  let problem: string | undefined
  const reached = await pollUntil(
    async () => {
      if (hasExited()) {
        throw new StackError('START_FAILED', `${server.service} ended:\n${logTail(server)}`)
      }
      problem = await server.findProblem()
      return problem === undefined
    },
    { timeoutMs: HEALTHY_TIMEOUT_MS, intervalMs: HEALTH_INTERVAL_MS, signal },
  )
  if (!reached) {
    throw new StackError(
      'START_FAILED',
      `${server.service} was not healthy after ${HEALTHY_TIMEOUT_MS / 1000} s (${problem}):\n${logTail(server)}`,
    )
  }
}

function logTail(server: Server): string {
  return tailOf(readTail(server.command.logFile, LOG_TAIL_BYTES), LOG_LINES)
}

/** The last bytes of a file as text; empty when there is no such file. */
export function readTail(path: string, sizeBytesMax: number): string {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') {
      return ''
    }
    throw error
  }
  try {
    const sizeBytes = fstatSync(file).size
    const buffer = Buffer.alloc(Math.min(sizeBytes, sizeBytesMax))
    readSync(file, buffer, 0, buffer.length, sizeBytes - buffer.length)
    return buffer.toString('utf8')
  } finally {
    closeSync(file)
  }
}
