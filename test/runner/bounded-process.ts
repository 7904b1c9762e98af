import { spawn } from 'node:child_process'
import { constants } from 'node:os'

export interface BoundedRun {
  readonly program: string
  readonly args: readonly string[]
  readonly timeoutMs: number
  /** `stream` shows the output on stderr as it comes; `collect` keeps it for the result. */
  readonly output: 'stream' | 'collect'
  /** From SIGTERM to SIGKILL. */
  readonly killGraceMs?: number
}

export interface Finished {
  /** 0 only for a process that ended by itself, in its time and without complaint. */
  readonly code: number
  readonly timedOut: boolean
  readonly seconds: number
  readonly output: string
}

const KILL_GRACE_MS = 20_000
const OUTPUT_CHARACTERS_MAX = 100_000
const NO_START_CODE = 127
const INTERRUPTED_CODE = 130
const running = new Set<number>()
let isEnding = false

/**
 * Runs one of this repository's programs as a process group of its own. Past its time the whole group gets SIGTERM, and SIGKILL after a grace, so
 * that neither it nor what it started can hang. Never rejects: a program that cannot start has failed.
 */
export function runBounded({ program, args, timeoutMs, output, killGraceMs = KILL_GRACE_MS }: BoundedRun): Promise<Finished> {
  if (isEnding) return Promise.resolve({ code: INTERRUPTED_CODE, timedOut: false, seconds: 0, output: 'interrupted\n' })
  const startedMs = performance.now()
  return new Promise((resolve) => {
    const child = spawn(`node_modules/.bin/${program}`, args, {
      stdio: output === 'stream' ? ['ignore', process.stderr, process.stderr] : ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: output === 'stream' ? process.env : { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    })
    const { pid } = child
    let collected = ''
    let timedOut = false
    let kill: NodeJS.Timeout | undefined
    const deadline = setTimeout(() => {
      timedOut = true
      signalGroup(pid, 'SIGTERM')
      kill = setTimeout(() => signalGroup(pid, 'SIGKILL'), killGraceMs)
    }, timeoutMs)
    const finish = (code: number): void => {
      clearTimeout(deadline)
      clearTimeout(kill)
      // What outlives its parent in the group would hold ports, files and the machine.
      signalGroup(pid, 'SIGKILL')
      if (pid !== undefined) running.delete(pid)
      const seconds = (performance.now() - startedMs) / 1000
      resolve({
        code: timedOut && code === 0 ? 1 : code,
        timedOut,
        seconds,
        output: timedOut ? `${collected}\nran out of time\n` : collected,
      })
    }
    const collect = (chunk: Buffer): void => {
      if (collected.length < OUTPUT_CHARACTERS_MAX) collected += chunk.toString('utf8')
    }
    if (pid !== undefined) running.add(pid)
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.on('error', (error) => {
      collected += `${String(error)}\n`
      finish(NO_START_CODE)
    })
    child.on('exit', (code, signal) => {
      const ended = (): void => finish(code ?? 128 + constants.signals[signal ?? 'SIGKILL'])
      // Its own output is complete only at 'close', which a grandchild that holds the pipe could put off for ever.
      if (output === 'stream') ended()
      else {
        signalGroup(pid, 'SIGKILL')
        child.once('close', ended)
      }
    })
  })
}

/**
 * Groups of their own do not hear a terminal's Ctrl-C: hands SIGINT, SIGTERM and SIGHUP on to them, and lets nothing start any more. The caller
 * goes on and finds everything failed; a second signal, or a grace that has passed, kills.
 */
export function endGroupsOnSignal(): void {
  const kill = (): void => {
    for (const pid of running) signalGroup(pid, 'SIGKILL')
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (isEnding) return kill()
      isEnding = true
      for (const pid of running) signalGroup(pid, 'SIGTERM')
      setTimeout(kill, KILL_GRACE_MS).unref()
    })
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // The group has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
