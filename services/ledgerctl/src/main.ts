import { EXIT } from './exit.ts'
import { explain } from './explain.ts'
import { createProgram, isAnswered } from './program.ts'

const program = createProgram({ environment: process.env, streams: process })
try {
  await program.parseAsync(process.argv)
} catch (error) {
  if (isAnswered(error)) {
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
  } else {
    const { exitCode, message } = explain(error)
    process.stderr.write(`ledgerctl: ${message}\n`)
    process.exitCode = exitCode
  }
}
