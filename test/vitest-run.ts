import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TestCounts {
  readonly passed: number
  readonly failed: number
}

const PROJECT_TIMEOUT_MS = 25 * 60_000

interface JsonReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numFailedTestSuites: number
}

/**
 * Runs one vitest project as a process of its own and counts what it ran. A run that crashed, timed out, executed nothing or left files that
 * could not be loaded counts as failed, whatever its report says.
 */
export async function runVitest(project: string): Promise<TestCounts> {
  const folder = await mkdtemp(join(tmpdir(), 'onceledger-test-'))
  const reportFile = join(folder, 'report.json')
  try {
    const code = await runProcess(['run', '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`])
    const report = await readReport(reportFile)
    if (report === null) return { passed: 0, failed: 1 }
    const failed = Math.max(report.numFailedTests, report.numFailedTestSuites > 0 ? 1 : 0)
    const nothingRan = report.numPassedTests + failed === 0
    return { passed: report.numPassedTests, failed: failed === 0 && (code !== 0 || nothingRan) ? 1 : failed }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function runProcess(args: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn('node_modules/.bin/vitest', args, {
      stdio: ['ignore', process.stderr, process.stderr],
      timeout: PROJECT_TIMEOUT_MS,
    })
    child.on('error', () => resolve(1))
    child.on('close', (code) => resolve(code ?? 1))
  })
}

async function readReport(file: string): Promise<JsonReport | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as JsonReport
  } catch {
    // No report: vitest ended before it could write one.
    return null
  }
}
