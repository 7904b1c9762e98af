import { createLogAdmin, type LogAdmin } from '@onceledger/command-log'
import { type ContractRegistry, createContractRegistry, MONEY_CONTRACTS } from '@onceledger/core'
import {
  type AggregateName,
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

/** The system as a command works on it. Everything is opened when it is first asked for. */
export interface Ledger {
  readonly config: CliConfig
  readonly registry: ContractRegistry
  readonly control: ShardDatabase
  readonly shards: readonly ShardDatabase[]
  readonly admin: LogAdmin
  foundation(): Promise<SystemFoundation>
  names(): Promise<Names>
  /** The database that judges a business key, and how its rows are named. @throws CommandFailed for a tenant that no shard has met. */
  locate(tenantId: string, businessKey: string): Promise<{ readonly database: ShardDatabase; readonly name: AggregateName }>
  close(): Promise<void>
}

export function openLedger(config: CliConfig): Ledger {
  const registry = createContractRegistry(MONEY_CONTRACTS)
  const control = openShardDatabase({ url: config.controlUrl, connectionsMax: 1 })
  const shards = config.mysqlUrls.map((url) => openShardDatabase({ url, connectionsMax: 1 }))
  return {
    config,
    registry,
    control,
    shards,
    admin: createLogAdmin({ brokers: config.kafkaBrokers, clientId: 'ledgerctl' }),
    foundation: () => loadFoundation(control),
    names: () => openNames(control, registry),
    async locate(tenantId, businessKey) {
      const map = await loadShardMap(control)
      const { shard } = ownerOf(map, bucketOf(tenantId, businessKey, map.bucketCount))
      const database = shards[shard]
      if (database === undefined)
        throw new CommandFailed(EXIT.usage, `this key belongs to shard ${shard}, but ONCELEDGER_MYSQL_URLS names ${shards.length} shards`)
      const tenantNo = await findTenantNo(control, tenantId)
      if (tenantNo === undefined) throw new CommandFailed(EXIT.finding, `tenant ${JSON.stringify(tenantId)} has never had a command judged`)
      return { database, name: { tenantId, tenantNo, businessKey } }
    },
    async close() {
      await Promise.allSettled([control, ...shards].map((database) => database.close()))
    },
  }
}
