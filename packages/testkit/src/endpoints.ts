import { TestkitError } from './errors.ts'

/** The servers that tests and the demo work on. */
export interface Endpoints {
  /** One for each shard; the database in the path is replaced by one of the test's own. */
  readonly mysqlUrls: readonly string[]
  readonly kafkaBrokers: readonly string[]
}

/** The servers that the environment names, as the test run's set-up has put them there. @throws TestkitError */
export function endpointsFromEnv(environment: Readonly<Record<string, string | undefined>> = process.env): Endpoints {
  const list = (name: string): string[] => {
    const items = (environment[name] ?? '').split(',').filter((item) => item !== '')
    if (items.length === 0)
      throw new TestkitError(`${name} is not set: start the servers with \`pnpm stack up\` and \`eval "$(pnpm -s stack env)"\``)
    return items
  }
  return { mysqlUrls: list('ONCELEDGER_MYSQL_URLS'), kafkaBrokers: list('ONCELEDGER_KAFKA_BROKERS') }
}
