import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { waitFor } from '@onceledger/runtime'
import { TestkitError } from './errors.ts'

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A running shard service: a real process of its own. */
export interface ShardProcess {
  readonly pid: number
  readonly adminUrl: string
  readonly exited: Promise<ProcessExit>
  /** Everything that it wrote lately, for a person to read. */
  lastLines(): readonly string[]
  kill(signal: NodeJS.Signals): void
  /** The answer of /readyz. */
  readiness(): Promise<{ readonly ok: boolean; readonly reasons: Readonly<Record<string, string>> }>
  /** SIGTERM, then waits for the end. @throws TestkitError when it does not end in its time. */
  stop(): Promise<ProcessExit>
}

export interface ShardProcessOptions {
  readonly shard: number
  /** From `TestLedger.env()`, and whatever else the service reads. */
  readonly env: Readonly<Record<string, string>>
  /** Do not wait for the service to say that it has started; it may be about to fail. */
  readonly expectStart?: boolean
}

const MAIN = new URL('../../../services/shard/src/main.ts', import.meta.url).pathname
const DIE_WITH_PARENT = new URL('./die-with-parent.ts', import.meta.url).href
/** As services/shard/README.md gives them. */
const NODE_FLAGS = [
  '--disable-warning=TimeoutNegativeWarning',
  '--max-old-space-size=180',
  '--max-semi-space-size=16',
  '--heap-growing-percent=300',
]
const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 45_000
const LINES_MAX = 200

/** Starts services/shard and waits until it serves. @throws TestkitError with its last lines. */
export async function startShardProcess(options: ShardProcessOptions): Promise<ShardProcess> {
  const child = spawn(process.execPath, [...NODE_FLAGS, '--import', DIE_WITH_PARENT, MAIN], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { ...process.env, NODE_ENV: 'test', ONCELEDGER_ADMIN_PORT: '0', ...options.env, ONCELEDGER_SHARD: String(options.shard) },
  })
  const lines: string[] = []
  let adminPort = 0
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line)
    if (lines.length > LINES_MAX) lines.shift()
    adminPort ||= adminPortIn(line)
  })
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ code, signal })
    })
  })
  if (options.expectStart !== false) await waitForStart(child, () => adminPort, lines)
  const adminUrl = `http://127.0.0.1:${adminPort}`
  return {
    pid: child.pid ?? 0,
    adminUrl,
    exited,
    lastLines: () => [...lines],
    kill: (signal) => void child.kill(signal),
    async readiness() {
      const response = await fetch(`${adminUrl}/readyz`)
      return (await response.json()) as { ok: boolean; reasons: Record<string, string> }
    },
    async stop() {
      child.kill('SIGTERM')
      await waitFor(() => child.exitCode !== null || child.signalCode !== null, {
        timeoutMs: STOP_TIMEOUT_MS,
        what: 'the shard process to stop',
      })
      return exited
    },
  }
}

async function waitForStart(child: ChildProcess, adminPort: () => number, lines: readonly string[]): Promise<void> {
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null
  try {
    await waitFor(() => ended() || adminPort() > 0, { timeoutMs: START_TIMEOUT_MS, what: 'the shard process to start' })
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  if (ended()) throw new TestkitError(`the shard process ended before it served:\n${lines.slice(-20).join('\n')}`)
}

/** The service says on which port it serves in its line `started`. */
function adminPortIn(line: string): number {
  if (!line.startsWith('{') || !line.includes('"started"')) return 0
  const { msg, adminPort } = JSON.parse(line) as { msg?: string; adminPort?: number }
  return msg === 'started' ? (adminPort ?? 0) : 0
}
