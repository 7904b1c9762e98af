import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { StackError, systemCodeOf } from './errors.ts'
import { pollUntil } from './poll.ts'

/**
 * How one server's process is found again: the file with its pid, and a text that only its own
 * command line holds (its data folder). A pid alone proves nothing, since pids are used again.
 */
export interface ProcessIdentity {
  readonly pidFile: string
  readonly marker: string
}

export interface LaunchCommand extends ProcessIdentity {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly logFile: string
}

const POLL_MS = 25
const KILL_TIMEOUT_MS = 10_000

/** Writes its own pid before it becomes the server, so there is no moment of a server without one. */
const LAUNCHER = 'echo $$ >"$1"; shift; exec "$@"'

export interface Launched {
  readonly hasExited: () => boolean
}

/** Starts a server in a session of its own: it outlives this process and its terminal. */
export function launch(command: LaunchCommand): Launched {
  mkdirSync(dirname(command.pidFile), { recursive: true })
  rmSync(command.pidFile, { force: true })
  const log = openSync(command.logFile, 'a')
  try {
    const child = spawn('/bin/sh', ['-c', LAUNCHER, 'sh', command.pidFile, command.file, ...command.args], {
      cwd: dirname(command.pidFile),
      env: { ...process.env, ...command.env },
      stdio: ['ignore', log, log],
      detached: true,
    })
    let exited = false
    const markExited = () => {
      exited = true
    }
    child.once('error', markExited)
    child.once('exit', markExited)
    child.unref()
    return { hasExited: () => exited }
  } finally {
    closeSync(log)
  }
}

/** The pid of the running server, or undefined when it does not run. */
export function findRunning(identity: ProcessIdentity): number | undefined {
  const pid = readPid(identity.pidFile)
  if (pid === undefined) {
    return undefined
  }
  return isSameProcess(commandLineOf(pid), identity.marker) ? pid : undefined
}

/** Whether the process with this command line (undefined: there is none) is the one we started. */
export function isSameProcess(commandLine: string | undefined, marker: string): boolean {
  return commandLine?.includes(marker) ?? false
}

export function parsePid(text: string): number | undefined {
  const pid = Number(text.trim())
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
}

function readPid(pidFile: string): number | undefined {
  try {
    return parsePid(readFileSync(pidFile, 'utf8'))
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') {
      return undefined
    }
    throw error
  }
}

/** The command line of a live process; a zombie has none. */
export function commandLineOf(pid: number): string | undefined {
  if (process.platform !== 'linux') {
    const ps = spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return ps.status === 0 ? ps.stdout : undefined
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch (error) {
    const code = systemCodeOf(error)
    if (code === 'ENOENT' || code === 'ESRCH') {
      return undefined
    }
    throw error
  }
}

/**
 * Ends a server: SIGTERM, and SIGKILL when it is still there after `graceMs`. `graceMs` 0 kills at
 * once. Does nothing when it does not run.
 *
 * @throws StackError STOP_FAILED when even SIGKILL did not end it.
 */
export async function endProcess(identity: ProcessIdentity, graceMs: number): Promise<void> {
  const isGone = () => findRunning(identity) === undefined
  if (graceMs > 0) {
    sendSignal(identity, 'SIGTERM')
    if (await pollUntil(isGone, { timeoutMs: graceMs, intervalMs: POLL_MS })) {
      return
    }
  }
  sendSignal(identity, 'SIGKILL')
  if (!(await pollUntil(isGone, { timeoutMs: KILL_TIMEOUT_MS, intervalMs: POLL_MS }))) {
    throw new StackError('STOP_FAILED', `the process of ${identity.pidFile} did not end`)
  }
}

function sendSignal(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  const pid = findRunning(identity)
  if (pid === undefined) {
    return
  }
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (systemCodeOf(error) !== 'ESRCH') {
      throw error
    }
  }
}
