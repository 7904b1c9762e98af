import { spawn } from 'node:child_process'

export interface Check {
  readonly name: string
  readonly command: readonly string[]
}

/** What must be true of the sources before any test is worth running. */
export const CHECKS: readonly Check[] = [
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format', command: ['biome', 'format', '.'] },
  { name: 'unused', command: ['knip', '--no-progress'] },
]

export interface CheckResult {
  readonly name: string
  readonly ok: boolean
  readonly seconds: number
  readonly output: string
}

const CHECK_TIMEOUT_MS = 180_000
const OUTPUT_CHARACTERS_MAX = 20_000

/** Runs one check with this repository's own programs. Never rejects: a check that cannot start has failed. */
export function runCheck({ name, command }: Check): Promise<CheckResult> {
  const [program = '', ...args] = command
  const startedMs = performance.now()
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(`node_modules/.bin/${program}`, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: CHECK_TIMEOUT_MS })
    const collect = (chunk: Buffer): void => {
      if (output.length < OUTPUT_CHARACTERS_MAX) output += chunk.toString('utf8')
    }
    const finish = (ok: boolean): void => resolve({ name, ok, output, seconds: (performance.now() - startedMs) / 1000 })
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.on('error', (error) => {
      output += String(error)
      finish(false)
    })
    child.on('close', (code) => finish(code === 0))
  })
}

export function printCheck({ name, ok, seconds, output }: CheckResult): void {
  process.stderr.write(`${ok ? 'ok  ' : 'FAIL'} ${name.padEnd(8)} ${seconds.toFixed(1)} s\n`)
  if (!ok) process.stderr.write(`${output.trimEnd()}\n`)
}
