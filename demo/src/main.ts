import { startStack } from '@onceledger/local-stack'
import { readArguments, USAGE, UsageError } from './arguments.ts'
import { BankFileError, readBankFile } from './bank-file.ts'
import { toJson, toText } from './report.ts'
import { runDemo } from './run.ts'

const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function main(given: readonly string[]): Promise<number> {
  const options = readArguments(given)
  const transactions = await readBankFile(options.dataFile, options.accountsMax)
  say(`${transactions.length} transactions read from ${options.dataFile}`)
  const stack = await startStack({
    name: 'demo',
    attached: !options.keep,
    services: ['mysql-0', 'mysql-1', 'kafka', 's3'],
    onProgress: say,
  })
  try {
    const { mysqlUrls, kafkaBrokers } = stack
    const result = await runDemo({
      transactions,
      mysqlUrls,
      kafkaBrokers,
      keep: options.keep,
      shuffleRows: options.shuffleRows,
      seed: options.seed,
      onProgress: say,
    })
    process.stdout.write(options.json ? `${JSON.stringify(toJson(result), null, 2)}\n` : `\n${toText(result)}`)
    if (options.keep) sayWhereToLook(stack.env(), result.ledger)
    return result.kills > 0 && result.judgement.checks.every(({ ok }) => ok) ? EXIT.ok : EXIT.failed
  } finally {
    if (!options.keep) await stack.stop({ wipe: true })
  }
}

function sayWhereToLook(
  env: Readonly<Record<string, string>>,
  ledger: { readonly topic: string; readonly mysqlUrls: readonly string[] },
): void {
  say('\nThe servers go on. To look around with ledgerctl:')
  for (const [name, value] of Object.entries({ ...env, ONCELEDGER_MYSQL_URLS: ledger.mysqlUrls.join(',') }))
    say(`  export ${name}='${value}'`)
  say('  npx -y pnpm@12 ledgerctl shards')
}

function explain(error: unknown): number {
  if (error instanceof UsageError) {
    say(`${error.message}\n\n${USAGE}`)
    return EXIT.usage
  }
  if (error instanceof BankFileError) {
    say(error.message)
    return EXIT.usage
  }
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  return EXIT.failed
}

// Servers and shard processes end with this process, however it ends.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(EXIT.interrupted))
process.exitCode = await main(process.argv.slice(2)).catch(explain)
