import { endGroupsOnSignal } from './runner/bounded-process.ts'
import { printCheck, runChecks } from './runner/checks.ts'
import { runVitest } from './runner/vitest-run.ts'

/** `pnpm verify`: everything that needs no server, in under a minute. */
endGroupsOnSignal()
const results = await runChecks(printCheck)
const { passed, failed, seconds, output } = await runVitest('unit', 'collect')
printCheck({ name: 'unit', ok: failed === 0, seconds, output })
process.stderr.write(`${passed} unit tests passed, ${failed} failed\n`)
process.exitCode = failed === 0 && results.every(({ ok }) => ok) ? 0 : 1
