import { randomBytes } from 'node:crypto'
import { type CommandProducer, createCommandProducer, createLogAdmin, type LogAdmin } from '@onceledger/command-log'
import { type ContractRegistry, createContractRegistry, gapsTopicOf, MONEY_CONTRACTS, resultsTopicOf } from '@onceledger/core'
import { defaultControlUrl, foundLedger, openShardDatabase, type ShardDatabase, withDatabase } from '@onceledger/ledger-store'
import type { Endpoints } from './endpoints.ts'
import { TestkitError } from './errors.ts'

/** A founded ledger with databases and a topic of its own. */
export interface TestLedger {
  readonly name: string
  readonly topic: string
  readonly bucketCount: number
  /** One for each shard. */
  readonly mysqlUrls: readonly string[]
  readonly controlUrl: string
  readonly kafkaBrokers: readonly string[]
  readonly registry: ContractRegistry
  readonly databases: readonly ShardDatabase[]
  readonly admin: LogAdmin
  readonly producer: CommandProducer
  /** The ONCELEDGER_* variables by which processes of the product find this ledger. */
  env(): Record<string, string>
  /** Closes all connections; with `drop` databases and topic go too. */
  close(options: { readonly drop: boolean }): Promise<void>
}

export interface TestLedgerOptions {
  readonly endpoints: Endpoints
  readonly shards: number
  readonly buckets: number
  /** Start of the database names and of the topic's name. */
  readonly name?: string
}

export async function createTestLedger(options: TestLedgerOptions): Promise<TestLedger> {
  const { endpoints, shards, buckets } = options
  const name = `${options.name ?? 'test'}_${randomBytes(4).toString('hex')}`
  const topic = `${name}.commands`
  const mysqlUrls = Array.from({ length: shards }, (_, shard) => {
    const server = endpoints.mysqlUrls[shard % endpoints.mysqlUrls.length]
    if (server === undefined) throw new TestkitError('no MySQL server is given')
    return withDatabase(server, `${name}_${shard}`)
  })
  const [firstUrl = ''] = mysqlUrls
  const controlUrl = defaultControlUrl(firstUrl)
  const registry = createContractRegistry(MONEY_CONTRACTS)
  const { kafkaBrokers } = endpoints
  await foundLedger({ controlUrl, shardUrls: mysqlUrls, topic, bucketCount: buckets, registry, nowUs: BigInt(Date.now()) * 1000n })
  const admin = createLogAdmin({ brokers: kafkaBrokers, clientId: name })
  const topics = [topic, resultsTopicOf(topic), gapsTopicOf(topic)]
  for (const each of topics) await admin.ensureTopic({ topic: each, partitions: buckets, retentionMs: -1 })
  const databases = mysqlUrls.map((url) => openShardDatabase({ url, connectionsMax: 2 }))
  const producer = createCommandProducer({ brokers: kafkaBrokers, clientId: name })
  const env = (): Record<string, string> => ({
    ONCELEDGER_MYSQL_URLS: mysqlUrls.join(','),
    ONCELEDGER_CONTROL_URL: controlUrl,
    ONCELEDGER_KAFKA_BROKERS: kafkaBrokers.join(','),
  })
  return {
    name,
    topic,
    bucketCount: buckets,
    mysqlUrls,
    controlUrl,
    kafkaBrokers,
    registry,
    databases,
    admin,
    producer,
    env,
    async close({ drop }) {
      await producer.close()
      if (drop) await dropAll(databases, admin, topics)
      await Promise.all(databases.map((database) => database.close()))
    },
  }
}

async function dropAll(databases: readonly ShardDatabase[], admin: LogAdmin, topics: readonly string[]): Promise<void> {
  for (const topic of topics) await admin.deleteTopic(topic)
  for (const database of databases) {
    const [, rows = []] = await database.withSession((session) => session.run('SELECT 1; SELECT DATABASE()'))
    const name = String(rows[0]?.[0])
    await database.withSession((session) => session.run(`DROP DATABASE ${name}; DROP DATABASE IF EXISTS ${name}_control`))
  }
}
