import { describe, expect, it } from 'vitest'
import { countTests } from './test-counts.ts'

interface File {
  readonly status: 'passed' | 'failed'
  readonly tests: readonly ('passed' | 'failed' | 'skipped')[]
}

function reportOf(...files: readonly File[]): string {
  return JSON.stringify({
    numPassedTests: files.flatMap(({ tests }) => tests).filter((test) => test === 'passed').length,
    testResults: files.map((file) => ({ status: file.status, assertionResults: file.tests.map((status) => ({ status })) })),
  })
}

const GOOD: File = { status: 'passed', tests: ['passed', 'passed'] }

describe('the counts of a test run', () => {
  it.each([
    ['all passed', reportOf(GOOD, GOOD), 0, { passed: 4, failed: 0 }],
    ['some failed', reportOf(GOOD, { status: 'failed', tests: ['failed', 'passed', 'failed'] }), 1, { passed: 3, failed: 2 }],
    [
      'files could not be loaded',
      reportOf(GOOD, { status: 'failed', tests: [] }, { status: 'failed', tests: [] }),
      1,
      { passed: 2, failed: 2 },
    ],
    ['a hook failed', reportOf(GOOD, { status: 'failed', tests: ['skipped'] }), 1, { passed: 2, failed: 1 }],
    ['all passed, yet the run failed (an error outside any test)', reportOf(GOOD), 1, { passed: 2, failed: 1 }],
    ['nothing ran', reportOf(), 0, { passed: 0, failed: 1 }],
    ['everything was skipped', reportOf({ status: 'passed', tests: ['skipped'] }), 0, { passed: 0, failed: 1 }],
    ['it crashed before its report', null, 139, { passed: 0, failed: 1 }],
    ['it ended well without a report', null, 0, { passed: 0, failed: 1 }],
    ['its report is cut off', reportOf(GOOD).slice(0, 40), 0, { passed: 0, failed: 1 }],
    ['its report is something else', '{}', 0, { passed: 0, failed: 1 }],
  ])('where %s', (_what, report, exitCode, counts) => {
    expect(countTests(report, exitCode)).toEqual(counts)
  })
})
