import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BoundedRun, type Finished, runBounded } from './bounded-process.ts'
import { countTests, type TestCounts } from './test-counts.ts'

const PROJECT_TIMEOUT_MS = 25 * 60_000

export interface VitestRun extends TestCounts, Pick<Finished, 'seconds' | 'output'> {}

/** Runs one project of vitest.config.ts as a process of its own, bounded in time, and counts what it ran. */
export async function runVitest(project: string, output: BoundedRun['output']): Promise<VitestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'onceledger-test-'))
  const reportFile = join(folder, 'report.json')
  try {
    const args = [
      'run',
      '--project',
      project,
      `--reporter=${output === 'stream' ? 'default' : 'dot'}`,
      '--reporter=json',
      `--outputFile.json=${reportFile}`,
    ]
    const run = await runBounded({ program: 'vitest', args, timeoutMs: PROJECT_TIMEOUT_MS, output })
    if (run.timedOut) process.stderr.write(`${project} ran out of time (${PROJECT_TIMEOUT_MS / 60_000} min)\n`)
    return { ...countTests(await readReport(reportFile), run.code), seconds: run.seconds, output: run.output }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The text of vitest's JSON report, or null where it ended before it could write one. */
async function readReport(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
