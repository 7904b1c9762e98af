import { z } from 'zod'

export interface TestCounts {
  readonly passed: number
  readonly failed: number
}

/** The part of vitest's JSON report (its shape is Jest's) that is counted. */
const REPORT = z.object({
  numPassedTests: z.int().nonnegative(),
  testResults: z.array(z.object({ status: z.string(), assertionResults: z.array(z.object({ status: z.string() })) })),
})

/**
 * What one run of vitest amounts to. A file that could not be loaded, or whose hooks failed, counts as one failure although none of its tests
 * did; so does a run that crashed, was killed, left no readable report, or executed nothing.
 */
export function countTests(reportText: string | null, exitCode: number): TestCounts {
  const report = parseReport(reportText)
  if (report === null) return { passed: 0, failed: 1 }
  let failed = 0
  for (const { status, assertionResults } of report.testResults) {
    const failedHere = assertionResults.filter((test) => test.status === 'failed').length
    failed += failedHere === 0 && status === 'failed' ? 1 : failedHere
  }
  const passed = report.numPassedTests
  const isUnexplained = failed === 0 && (exitCode !== 0 || passed === 0)
  return { passed, failed: isUnexplained ? 1 : failed }
}

function parseReport(text: string | null): z.output<typeof REPORT> | null {
  if (text === null) return null
  try {
    return REPORT.parse(JSON.parse(text))
  } catch (error) {
    // Cut off in the middle, or not a report: the run has failed, whatever else it did.
    if (error instanceof SyntaxError || error instanceof z.ZodError) return null
    throw error
  }
}
