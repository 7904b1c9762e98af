import type { AccountPoint } from '@onceledger/ledger-store'
import { Command, CommanderError } from 'commander'
import { showAccount } from './commands/account.ts'
import { CHECK_QUERY_TIMEOUT_MS, checkCommand } from './commands/check.ts'
import { commandLine } from './commands/command.ts'
import { showEvent } from './commands/event.ts'
import { type GapsOptions, listGapsCommand } from './commands/gaps.ts'
import { migrateCommand } from './commands/migrate.ts'
import { resetOffsetCommand } from './commands/offsets.ts'
import { showOperation } from './commands/operation.ts'
import { shardsCommand } from './commands/shards.ts'
import { submitCommand } from './commands/submit.ts'
import { readConfig } from './config.ts'
import { EXIT_HELP } from './exit.ts'
import { type Ledger, type LedgerOptions, openLedger } from './ledger.ts'
import { accountPoint, bucketCount, count, listLength, offset, topicName } from './option-values.ts'
import { createOutput, type Output, type Streams } from './output.ts'
import { addParked } from './program-parked.ts'
import { createProgressBar, NO_PROGRESS, type Progress } from './progress.ts'

export interface ProgramOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly streams: Streams
}

/** The command tree. Each action opens what it needs, does one thing, and closes it again. */
export function createProgram({ environment, streams }: ProgramOptions): Command {
  const program = new Command('ledgerctl')
    .description("The operator's command for Onceledger")
    .addHelpText('after', EXIT_HELP)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void streams.stdout.write(text), writeErr: (text) => void streams.stderr.write(text) })

  let json = false
  const withLedger: WithLedger = async (work, options) => {
    const ledger = openLedger(readConfig(environment), options)
    try {
      await work(ledger, createOutput(json, streams))
    } finally {
      await ledger.close()
    }
  }

  addWriting(program, withLedger, () => (streams.stderr.isTTY === true && !json ? createProgressBar(process.stderr) : NO_PROGRESS))
  addCommandLine(program, streams)
  addShowing(program, withLedger)
  addOperating(program, withLedger)
  addJson(program, () => {
    json = true
  })
  return program
}

/** Taken before a command and after it: whoever writes a script should not have to remember which. */
function addJson(command: Command, onJson: () => void): void {
  command.option('--json', 'one JSON value on stdout').on('option:json', onJson)
  for (const each of command.commands) addJson(each, onJson)
}

export type WithLedger = (work: (ledger: Ledger, output: Output) => Promise<void>, options?: LedgerOptions) => Promise<void>

function addWriting(program: Command, withLedger: WithLedger, createProgress: () => Progress): void {
  program
    .command('migrate')
    .description('create databases and topic, migrate, found the system; safe to repeat')
    .option('--buckets <n>', 'partitions of the topic; fixed for ever', bucketCount, 64)
    .option('--topic <name>', 'the topic of the commands; fixed for ever', topicName, 'ledger.commands')
    .option('--retention-ms <ms>', 'how long the topic keeps messages; 0 for ever', count, 0)
    .option('--no-topic-creation', 'leave Kafka alone')
    .action((options: { buckets: number; topic: string; retentionMs: number; topicCreation: boolean }) =>
      withLedger((ledger, output) =>
        migrateCommand(ledger, output, {
          topic: options.topic,
          buckets: options.buckets,
          retentionMs: options.retentionMs === 0 ? -1 : options.retentionMs,
          createTopic: options.topicCreation,
        }),
      ),
    )
  program
    .command('submit')
    .description('send a file of commands, one CloudEvent as JSON on a line')
    .argument('<file>', 'path, or - for standard input')
    .option('--keep-going', 'send the good lines although others are refused', false)
    .option('--wait', 'wait for the results and show them', false)
    .option('--timeout-ms <ms>', 'how long to wait for results', count, 30_000)
    .action((file: string, { keepGoing, wait, timeoutMs }: { keepGoing: boolean; wait: boolean; timeoutMs: number }) =>
      withLedger((ledger, output) =>
        submitCommand(ledger, output, {
          file,
          keepGoing,
          waitMs: wait ? timeoutMs : null,
          stdin: process.stdin,
          // Answers are shown as they come, in the place of a bar.
          progress: wait ? NO_PROGRESS : createProgress(),
        }),
      ),
    )
}

function addCommandLine(program: Command, streams: Streams): void {
  program
    .command('command')
    .description('print one command as a line for submit')
    .requiredOption('--type <contract>', 'contract and version, such as deposit.v1')
    .requiredOption('--tenant <id>')
    .requiredOption('--key <key>', 'business key')
    .option('--operation <id>', 'identity of the intent; a retry keeps it')
    .option('--event <id>', 'identity of the message; a fresh UUIDv7 unless given')
    .option('--aggregate-version <n>', 'for contracts with an order: the version that the command produces', offset)
    .requiredOption('--data <json>', 'fields of the contract, amounts as strings')
    .action((options: Parameters<typeof commandLine>[0]) => void streams.stdout.write(`${commandLine(options, Date.now())}\n`))
}

function addShowing(program: Command, withLedger: WithLedger): void {
  const keyed = (command: Command): Command => command.requiredOption('--tenant <id>').requiredOption('--key <key>', 'business key')
  program
    .command('operation')
    .description('operations')
    .command('show')
    .description('one operation: first result, reversal, refused uses of its identity')
    .requiredOption('--tenant <id>')
    .option('--key <key>', 'business key; not needed where the identity is tenant-wide')
    .requiredOption('--type <name>', 'contract, such as deposit')
    .argument('<operationId>')
    .action((operationId: string, options: { tenant: string; key?: string; type: string }) =>
      withLedger((ledger, output) => showOperation(ledger, output, { ...options, operationId })),
    )
  keyed(program.command('event').description('events').command('show').description('one event: verdict, operation, place in the log'))
    .option('--consumer <name>', 'inbox', 'ledger')
    .argument('<eventId>')
    .action((eventId: string, options: { tenant: string; key: string; consumer: string }) =>
      withLedger((ledger, output) => showEvent(ledger, output, { ...options, eventId })),
    )
  program
    .command('account')
    .description('accounts')
    .command('show')
    .description('balances of a business key, as they stand or stood, and postings')
    .requiredOption('--tenant <id>')
    .option('--postings [n]', 'how many postings of each currency', listLength, 10)
    .option('--at <point>', 'as it stood at an account version, or at a time of RFC 3339', accountPoint)
    .argument('<key>', 'business key')
    .action((key: string, { postings, ...options }: { tenant: string; postings: number | true; at?: AccountPoint }) =>
      withLedger((ledger, output) => showAccount(ledger, output, { ...options, postings: postings === true ? 10 : postings, key })),
    )
}

function addOperating(program: Command, withLedger: WithLedger): void {
  program
    .command('shards')
    .description('what each shard owns, how far it came, what it answered')
    .option('--partitions', 'each partition too', false)
    .action(({ partitions }: { partitions: boolean }) => withLedger((ledger, output) => shardsCommand(ledger, output, partitions)))
  program
    .command('check')
    .description('hold all balances against all postings; reads whole tables')
    .action(() => withLedger(checkCommand, { queryTimeoutMs: CHECK_QUERY_TIMEOUT_MS }))
  addParked(program, withLedger)
  program
    .command('gaps')
    .description('commands that wait for a predecessor')
    .command('list')
    .option('--tenant <id>')
    .option('--limit <n>', 'in all, the oldest first', listLength, 100)
    .action((options: GapsOptions) => withLedger((ledger, output) => listGapsCommand(ledger, output, options)))
  program
    .command('offsets')
    .description('positions in the log')
    .command('reset')
    .description('let a partition go on elsewhere, after its topic was created anew')
    .requiredOption('--partition <n>', 'partition', count)
    .requiredOption('--to <offset>', 'next offset to judge', offset)
    .option('--yes', 'do it', false)
    .action((options: Parameters<typeof resetOffsetCommand>[2]) =>
      withLedger((ledger, output) => resetOffsetCommand(ledger, output, options)),
    )
}

/** commander's own errors, help and version included, have told the user already. */
export function isAnswered(error: unknown): error is CommanderError {
  return error instanceof CommanderError
}
