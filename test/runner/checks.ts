import { runBounded } from './bounded-process.ts'

interface Check {
  readonly name: string
  readonly command: readonly [program: string, ...args: string[]]
}

/** What must be true of the sources before any test is worth running. */
const CHECKS: readonly Check[] = [
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format', command: ['biome', 'check', '--max-diagnostics=100', '.'] },
  { name: 'unused', command: ['knip', '--no-progress'] },
]

export interface CheckResult {
  readonly name: string
  readonly ok: boolean
  readonly seconds: number
  readonly output: string
}

const CHECK_TIMEOUT_MS = 180_000

/** Runs all checks at the same time; each result is told as soon as it and those before it are there. */
export async function runChecks(onResult: (result: CheckResult) => void): Promise<readonly CheckResult[]> {
  const running = CHECKS.map(runCheck)
  const results: CheckResult[] = []
  for (const check of running) {
    const result = await check
    results.push(result)
    onResult(result)
  }
  return results
}

async function runCheck({ name, command: [program, ...args] }: Check): Promise<CheckResult> {
  const { code, seconds, output } = await runBounded({ program, args, timeoutMs: CHECK_TIMEOUT_MS, output: 'collect' })
  return { name, ok: code === 0, seconds, output }
}

/** One line; the output only of a check that failed. */
export function printCheck({ name, ok, seconds, output }: CheckResult): void {
  process.stderr.write(`${ok ? 'ok  ' : 'FAIL'} ${name.padEnd(8)} ${seconds.toFixed(1)} s\n`)
  if (!ok) process.stderr.write(`${output.trim()}\n`)
}
