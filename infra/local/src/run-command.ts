import { spawn } from 'node:child_process'
import { StackError } from './errors.ts'

/** Hears of the commands that run, so that they can be ended when this process is gone. */
export interface CommandWatch {
  /** `marker` is a text that the command line holds; the pid leads a process group. */
  readonly onStart: (pid: number, marker: string) => void
  readonly onEnd: (pid: number) => void
}

export interface CommandControl {
  readonly signal?: AbortSignal | undefined
  readonly watch?: CommandWatch | undefined
}

export interface CommandOptions {
  readonly timeoutMs: number
  readonly env?: NodeJS.ProcessEnv | undefined
  readonly cwd?: string | undefined
  readonly control?: CommandControl | undefined
}

export interface CommandOutput {
  readonly stdout: string
  readonly stderr: string
}

const OUTPUT_CHARS_MAX = 4_000_000
const TAIL_LINES = 12

/**
 * Runs a program to its end and returns what it printed. It runs in a process group of its own, so
 * that a time-out or an interrupt ends its children too.
 *
 * @throws StackError MISSING_TOOL when there is no such program, COMMAND_FAILED when it ends with
 *   an error or takes longer than `timeoutMs`, INTERRUPTED when its signal fires.
 */
export async function runCommand(file: string, args: readonly string[], options: CommandOptions): Promise<CommandOutput> {
  const child = spawn(file, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const { signal, watch } = options.control ?? {}
  if (child.pid !== undefined) {
    watch?.onStart(child.pid, args.at(-1) ?? file)
  }
  let stdout = ''
  let stderr = ''
  const endedBy = new Set<'timeout' | 'signal'>()
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout = (stdout + chunk).slice(-OUTPUT_CHARS_MAX)
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-OUTPUT_CHARS_MAX)
  })
  const end = (reason: 'timeout' | 'signal') => {
    endedBy.add(reason)
    if (child.pid !== undefined) {
      killGroup(child.pid)
    }
  }
  const onAbort = () => end('signal')
  const timer = setTimeout(() => end('timeout'), options.timeoutMs)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted === true) {
    onAbort()
  }
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (endedBy.has('signal')) {
      throw new StackError('INTERRUPTED', 'interrupted')
    }
    if (endedBy.has('timeout')) {
      throw new StackError('COMMAND_FAILED', `${file} took longer than ${options.timeoutMs / 1000} s`)
    }
    if (exitCode !== 0) {
      const tail = tailOf(stderr.trim() === '' ? stdout : stderr, TAIL_LINES)
      throw new StackError('COMMAND_FAILED', `${file} ended with ${exitCode ?? 'a signal'}:\n${tail}`)
    }
    return { stdout, stderr }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new StackError('MISSING_TOOL', `${file} is not on this machine`, { cause: error })
    }
    throw error
  } finally {
    clearTimeout(timer)
    if (child.pid !== undefined) {
      watch?.onEnd(child.pid)
    }
    signal?.removeEventListener('abort', onAbort)
  }
}

/** The last lines of a text, indented. */
export function tailOf(text: string, lines: number): string {
  return text
    .trimEnd()
    .split('\n')
    .slice(-lines)
    .map((line) => `  ${line}`)
    .join('\n')
}

/** Ends a process group at once; one that is gone is no error. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') {
      return
    }
    throw error
  }
}
