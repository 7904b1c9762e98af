import { parseArgs } from 'node:util'
import { commands } from './commands.ts'
import { StackError } from './errors.ts'
import { stackFolder } from './paths.ts'
import { isServiceName, SERVICE_NAMES, type ServiceName } from './service-names.ts'

const USAGE = `pnpm stack COMMAND

  up                 start MySQL (two servers), Kafka and S3, and leave them running
  down [--wipe]      stop them; --wipe deletes their data too
  status [--json]    what runs where, each asked one real question
  env [--json]       the ONCELEDGER_* variables, as shell exports: eval "$(pnpm --silent stack env)"
  logs [SERVICE]     the end of the logs
  kill SERVICE       SIGKILL one server, as a crash would
  restart SERVICE    start one server again, on the same port and data

SERVICE is one of ${SERVICE_NAMES.join(', ')}.
ONCELEDGER_STACK_DIR names another folder for the data.
`

const USAGE_EXIT_CODE = 2
const INTERRUPTED_EXIT_CODE = 130

function serviceArgument(text: string | undefined): ServiceName {
  if (text === undefined || !isServiceName(text)) {
    throw new StackError('BAD_SETTING', `name one of ${SERVICE_NAMES.join(', ')}`)
  }
  return text
}

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      wipe: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const [command, argument] = positionals
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Not `once`: npm and pnpm hand a Ctrl-C on that the terminal has already delivered.
    process.on(signal, () => interrupted.abort())
  }
  const run = commands({
    dir: stackFolder(process.env, undefined),
    environment: process.env,
    signal: interrupted.signal,
    print: (text) => process.stdout.write(text),
    onProgress: (line) => process.stderr.write(`${line}\n`),
  })
  switch (command) {
    case 'up':
      return run.up()
    case 'down':
      return run.down(values.wipe)
    case 'status':
      return run.status(values.json)
    case 'env':
      return run.env(values.json)
    case 'logs':
      return run.logs(argument === undefined ? SERVICE_NAMES : [serviceArgument(argument)])
    case 'kill':
      return run.kill(serviceArgument(argument))
    case 'restart':
      return run.restart(serviceArgument(argument))
    default:
      process.stderr.write(USAGE)
      return values.help ? 0 : USAGE_EXIT_CODE
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof StackError)) {
    throw error
  }
  process.stderr.write(`stack: ${error.message}\n`)
  process.exitCode = error.code === 'INTERRUPTED' ? INTERRUPTED_EXIT_CODE : 1
}
