import { endGroupsOnSignal } from './runner/bounded-process.ts'
import { printCheck, runChecks } from './runner/checks.ts'
import type { TestCounts } from './runner/test-counts.ts'
import { runVitest } from './runner/vitest-run.ts'

/**
 * `npm test [-- checks|unit|integration|fault|e2e ...]`: the checks of `pnpm verify`, then all tests, those with real servers included. Every stage is
 * bounded in time. The last line is `N passed, N failed`; a failed check counts as a failed test.
 */
const STAGES = ['checks', 'unit', 'integration', 'fault', 'e2e'] as const
type Stage = (typeof STAGES)[number]

async function runStage(stage: Stage): Promise<TestCounts> {
  if (stage !== 'checks') return runVitest(stage, 'stream')
  const results = await runChecks(printCheck)
  const passed = results.filter(({ ok }) => ok).length
  return { passed, failed: results.length - passed }
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !STAGES.some((stage) => stage === name))
  if (unknown.length > 0) {
    process.stderr.write(`unknown: ${unknown.join(', ')}; there are ${STAGES.join(', ')}\n`)
    return 2
  }
  endGroupsOnSignal()
  let passed = 0
  let failed = 0
  for (const stage of STAGES) {
    if (names.length > 0 && !names.includes(stage)) continue
    process.stderr.write(`\n== ${stage}\n`)
    const counts = await runStage(stage)
    passed += counts.passed
    failed += counts.failed
    process.stderr.write(`== ${stage}: ${counts.passed} passed, ${counts.failed} failed\n`)
  }
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
  return failed === 0 && passed > 0 ? 0 : 1
}

process.exitCode = await main(process.argv.slice(2))
