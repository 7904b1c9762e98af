import { createLogAdmin, type LogAdmin } from '@onceledger/command-log'
import { type ContractRegistry, createContractRegistry, MONEY_CONTRACTS } from '@onceledger/core'
import {
  type AggregateName,
  assertShardIdentity,
  findTenantNo,
  loadFoundation,
  loadShardMap,
  type Names,
  openNames,
  openShardDatabase,
  type ShardDatabase,
  type SystemFoundation,
} from '@onceledger/ledger-store'
import { bucketOf, ownerOf } from '@onceledger/shard-map'
import type { CliConfig } from './config.ts'
import { CommandFailed, EXIT } from './exit.ts'

interface ShardOfBucket {
  readonly shard: number
  readonly database: ShardDatabase
}

/** The system as a command works on it. Connections are made when they are first used. */
export interface Ledger {
  readonly config: CliConfig
  readonly registry: ContractRegistry
  readonly admin: LogAdmin
  /** The control schema. */
  readonly control: ShardDatabase
  foundation(): Promise<SystemFoundation>
  names(): Promise<Names>
  /** All shards in the order of their numbers. @throws StoreMisconfigured, CommandFailed unless the URLs are those of this system. */
  shards(): Promise<readonly ShardDatabase[]>
  /** The shard that judges a bucket, by the shard map. @throws as `shards` */
  shardOf(bucket: number): Promise<ShardOfBucket>
  /** The database that judges a business key, and how its rows are named. @throws CommandFailed for a tenant that no shard has met. */
  locate(tenantId: string, businessKey: string): Promise<{ readonly database: ShardDatabase; readonly name: AggregateName }>
  close(): Promise<void>
}

export interface LedgerOptions {
  /** Bound on every packet of SQL; the store's default unless given. */
  readonly queryTimeoutMs?: number
}

export function openLedger(config: CliConfig, options: LedgerOptions = {}): Ledger {
  const registry = createContractRegistry(MONEY_CONTRACTS)
  const control = openShardDatabase({ ...options, url: config.controlUrl, connectionsMax: 1 })
  const databases = config.mysqlUrls.map((url) => openShardDatabase({ ...options, url, connectionsMax: 1 }))

  /** URLs in a wrong order would make every question meet the wrong rows, and a reset the wrong partition. */
  async function verified(shard: number): Promise<ShardDatabase> {
    const database = databases[shard]
    if (database === undefined)
      throw new CommandFailed(
        EXIT.usage,
        `ONCELEDGER_MYSQL_URLS names ${databases.length} shards, and shard ${shard} is asked for: name all`,
      )
    await assertShardIdentity(control, database, shard)
    return database
  }

  async function shardOf(bucket: number): Promise<ShardOfBucket> {
    const { shard } = ownerOf(await loadShardMap(control), bucket)
    return { shard, database: await verified(shard) }
  }

  return {
    config,
    registry,
    control,
    admin: createLogAdmin({ brokers: config.kafkaBrokers, clientId: 'ledgerctl' }),
    foundation: () => loadFoundation(control),
    names: () => openNames(control, registry),
    async shards() {
      const { shardCount } = await loadFoundation(control)
      if (shardCount !== databases.length)
        throw new CommandFailed(
          EXIT.usage,
          `the ledger has ${shardCount} shards, ONCELEDGER_MYSQL_URLS names ${databases.length}: name all`,
        )
      return Promise.all(databases.map((_, shard) => verified(shard)))
    },
    shardOf,
    async locate(tenantId, businessKey) {
      const { bucketCount } = await loadFoundation(control)
      const { database } = await shardOf(bucketOf(tenantId, businessKey, bucketCount))
      const tenantNo = await findTenantNo(control, tenantId)
      if (tenantNo === undefined) throw new CommandFailed(EXIT.finding, `tenant ${JSON.stringify(tenantId)} has never had a command judged`)
      return { database, name: { tenantId, tenantNo, businessKey } }
    },
    async close() {
      await Promise.allSettled([control, ...databases].map((database) => database.close()))
    },
  }
}
