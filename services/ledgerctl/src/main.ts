import { EXIT } from './exit.ts'
import { explain } from './explain.ts'
import { printable } from './output.ts'
import { createProgram, isAnswered } from './program.ts'

// `ledgerctl ... | head` closes the pipe early: nobody wants the rest, but the work and its exit code stand.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const program = createProgram({ environment: process.env, streams: process })
try {
  await program.parseAsync(process.argv)
} catch (error) {
  if (isAnswered(error)) {
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
  } else {
    const { exitCode, message } = explain(error)
    process.stderr.write(`ledgerctl: ${message.split('\n').map(printable).join('\n')}\n`)
    process.exitCode = exitCode
  }
}
