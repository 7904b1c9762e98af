import { execFile } from 'node:child_process'

export interface CliRun {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs the operator's command as a process of its own. */
export function runLedgerctl(env: Readonly<Record<string, string>>, args: readonly string[], input: string | Buffer = ''): Promise<CliRun> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--disable-warning=TimeoutNegativeWarning', 'services/ledgerctl/src/main.ts', ...args],
      { env: { ...process.env, ...env }, timeout: 120_000, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
    child.stdin?.end(input)
  })
}
