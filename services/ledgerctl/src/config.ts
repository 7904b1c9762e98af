import { defaultControlUrl } from '@onceledger/ledger-store'
import { env, parseEnv } from '@onceledger/runtime'
import { z } from 'zod'

export interface CliConfig {
  readonly mysqlUrls: readonly string[]
  readonly controlUrl: string
  readonly kafkaBrokers: readonly string[]
}

const SCHEMA = z.object({
  ONCELEDGER_MYSQL_URLS: env.mysqlUrls(),
  ONCELEDGER_CONTROL_URL: env.mysqlUrl().optional(),
  ONCELEDGER_KAFKA_BROKERS: env.hostPorts(),
})

/** @throws ConfigError listing every variable that is missing or wrong. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): CliConfig {
  const {
    ONCELEDGER_MYSQL_URLS: mysqlUrls,
    ONCELEDGER_CONTROL_URL: given,
    ONCELEDGER_KAFKA_BROKERS: kafkaBrokers,
  } = parseEnv(SCHEMA, environment)
  return { mysqlUrls, kafkaBrokers, controlUrl: given ?? defaultControlUrl(mysqlUrls[0] ?? '') }
}
