import { CHECKS, printCheck, runCheck } from './checks.ts'
import { runVitest } from './vitest-run.ts'

/** `pnpm verify`: everything that needs no server, in under a minute. */
let ok = true
const results = CHECKS.map((check) => runCheck(check))
for (const result of results) {
  const finished = await result
  printCheck(finished)
  ok &&= finished.ok
}
const unit = await runVitest('unit')
process.stderr.write(`${unit.failed === 0 ? 'ok  ' : 'FAIL'} unit     ${unit.passed} passed, ${unit.failed} failed\n`)
process.exitCode = ok && unit.failed === 0 ? 0 : 1
