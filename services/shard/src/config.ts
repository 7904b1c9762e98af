import { env, parseEnv } from '@onceledger/runtime'
import { z } from 'zod'

/** One process of one shard, as the environment describes it. */
export interface ShardConfig {
  readonly shard: number
  readonly mysqlUrls: readonly string[]
  readonly controlUrl: string | undefined
  readonly kafkaBrokers: readonly string[]
  /** Adjudications at the same time, each on a connection of its own. */
  readonly connections: number
  readonly batchRecords: number
  /** Bytes of records held in memory before fetching pauses. */
  readonly queueBytes: number
  readonly adminHost: string
  readonly adminPort: number
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  readonly shutdownTimeoutMs: number
  /** Kafka's consumer group; by default one for each topic and shard. */
  readonly groupId: string | undefined
  /** After this long without a sign of life the group gives a process's partitions to another. */
  readonly sessionTimeoutMs: number
  readonly startFrom: 'applied' | 'group-offset'
  /** Whether results are published. Every process of a shard must say the same. */
  readonly publishResults: boolean
  /** Messages of one partition that may be parked within the window; one that would park more stops. */
  readonly parkedMax: number
  readonly parkedWindowMs: number
  /** How long a command waits before its predecessor is asked for, and how often that is asked again. */
  readonly gapIntervalMs: number
}

const SCHEMA = z.object({
  ONCELEDGER_SHARD: env.integer({ min: 0, max: 65_535 }),
  ONCELEDGER_MYSQL_URLS: env.mysqlUrls(),
  ONCELEDGER_CONTROL_URL: env.mysqlUrl().optional(),
  ONCELEDGER_KAFKA_BROKERS: env.hostPorts(),
  ONCELEDGER_CONNECTIONS: env.integer({ min: 1, max: 64 }).default(4),
  ONCELEDGER_BATCH_RECORDS: env.integer({ min: 1, max: 4_000 }).default(1_000),
  ONCELEDGER_QUEUE_BYTES: env.integer({ min: 1024 * 1024, max: 1024 * 1024 * 1024 }).default(8 * 1024 * 1024),
  ONCELEDGER_ADMIN_HOST: z.string().min(1).default('127.0.0.1'),
  ONCELEDGER_ADMIN_PORT: env.port().default(9_464),
  ONCELEDGER_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  ONCELEDGER_SHUTDOWN_TIMEOUT_MS: env.durationMs({ max: 600_000 }).default(30_000),
  ONCELEDGER_GROUP_ID: z.string().min(1).max(200).optional(),
  ONCELEDGER_SESSION_TIMEOUT_MS: env.durationMs({ max: 300_000 }).default(10_000),
  ONCELEDGER_START_FROM: z.enum(['applied', 'group-offset']).default('applied'),
  ONCELEDGER_RESULTS: z.enum(['on', 'off']).default('on'),
  ONCELEDGER_PARKED_MAX: env.integer({ min: 0, max: 1_000_000 }).default(1_000),
  ONCELEDGER_PARKED_WINDOW_MS: env.durationMs({ max: 86_400_000 }).default(60_000),
  ONCELEDGER_GAP_INTERVAL_MS: env.durationMs({ max: 86_400_000 }).default(30_000),
})

/** @throws ConfigError listing every variable that is missing or wrong. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): ShardConfig {
  const given = parseEnv(SCHEMA, environment)
  return {
    shard: given.ONCELEDGER_SHARD,
    mysqlUrls: given.ONCELEDGER_MYSQL_URLS,
    controlUrl: given.ONCELEDGER_CONTROL_URL,
    kafkaBrokers: given.ONCELEDGER_KAFKA_BROKERS,
    connections: given.ONCELEDGER_CONNECTIONS,
    batchRecords: given.ONCELEDGER_BATCH_RECORDS,
    queueBytes: given.ONCELEDGER_QUEUE_BYTES,
    adminHost: given.ONCELEDGER_ADMIN_HOST,
    adminPort: given.ONCELEDGER_ADMIN_PORT,
    logLevel: given.ONCELEDGER_LOG_LEVEL,
    shutdownTimeoutMs: given.ONCELEDGER_SHUTDOWN_TIMEOUT_MS,
    groupId: given.ONCELEDGER_GROUP_ID,
    sessionTimeoutMs: given.ONCELEDGER_SESSION_TIMEOUT_MS,
    startFrom: given.ONCELEDGER_START_FROM,
    publishResults: given.ONCELEDGER_RESULTS === 'on',
    parkedMax: given.ONCELEDGER_PARKED_MAX,
    parkedWindowMs: given.ONCELEDGER_PARKED_WINDOW_MS,
    gapIntervalMs: given.ONCELEDGER_GAP_INTERVAL_MS,
  }
}
