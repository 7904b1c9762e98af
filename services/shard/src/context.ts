import { createLogAdmin, type LogAdmin } from '@onceledger/command-log'
import { type ContractRegistry, createContractRegistry, MONEY_CONTRACTS } from '@onceledger/core'
import {
  assertMigrated,
  assertShardIdentity,
  checkDurability,
  defaultControlUrl,
  loadFoundation,
  type Names,
  openNames,
  openShardDatabase,
  registerContracts,
  type ShardDatabase,
  StoreMisconfigured,
  type SystemFoundation,
} from '@onceledger/ledger-store'
import type { ShardConfig } from './config.ts'

/** The opened and checked outside world of one shard process. */
export interface ShardContext {
  readonly database: ShardDatabase
  readonly control: ShardDatabase
  readonly admin: LogAdmin
  readonly registry: ContractRegistry
  readonly names: Names
  readonly foundation: SystemFoundation
  /** Partitions that read the log from its first record, because the database had no position for them, and have not committed since. */
  readonly fresh: Set<number>
  /** The database of another shard, opened and checked when it is first asked for. */
  databaseOf(shard: number): Promise<ShardDatabase>
  close(): Promise<void>
}

/** One more than the adjudications use, for offsets and ownership. */
const SPARE_CONNECTIONS = 1

export function systemNowUs(): bigint {
  return BigInt(Date.now()) * 1000n
}

/** @throws StoreMisconfigured when the databases are not what this release may work on. */
export async function openContext(config: ShardConfig): Promise<ShardContext> {
  const url = config.mysqlUrls[config.shard]
  const [firstUrl] = config.mysqlUrls
  if (url === undefined || firstUrl === undefined)
    throw new StoreMisconfigured(
      'SHARD_WITHOUT_URL',
      `ONCELEDGER_SHARD is ${config.shard}, but ONCELEDGER_MYSQL_URLS names ${config.mysqlUrls.length} shards, counted from 0`,
    )
  const control = openShardDatabase({ url: config.controlUrl ?? defaultControlUrl(firstUrl), connectionsMax: 2 })
  const database = openShardDatabase({ url, connectionsMax: config.connections + SPARE_CONNECTIONS })
  const others = new OtherShards(config.mysqlUrls, control)
  const close = async (): Promise<void> => {
    await Promise.allSettled([database.close(), control.close(), others.close()])
  }
  try {
    const registry = createContractRegistry(MONEY_CONTRACTS)
    await assertMigrated(control, 'control')
    await assertMigrated(database, 'shard')
    await assertShardIdentity(control, database, config.shard)
    await checkDurability(database)
    const foundation = await loadFoundation(control)
    const names = await openNames(control, registry)
    await registerContracts(database, registry, names, systemNowUs())
    const admin = createLogAdmin({ brokers: config.kafkaBrokers, clientId: `onceledger-shard-${config.shard}-admin` })
    const databaseOf = (shard: number): Promise<ShardDatabase> => others.open(shard)
    return { database, control, admin, registry, names, foundation, fresh: new Set(), databaseOf, close }
  } catch (error) {
    await close()
    throw error
  }
}

const OTHER_SHARD_CONNECTIONS = 2

/** Connections to shards where tenant-wide identities are at home. */
class OtherShards {
  readonly #urls: readonly string[]
  readonly #control: ShardDatabase
  readonly #open = new Map<number, ShardDatabase>()

  constructor(urls: readonly string[], control: ShardDatabase) {
    this.#urls = urls
    this.#control = control
  }

  /** @throws StoreMisconfigured when the URL at that place is missing or leads to another shard. */
  async open(shard: number): Promise<ShardDatabase> {
    const known = this.#open.get(shard)
    if (known !== undefined) return known
    const url = this.#urls[shard]
    if (url === undefined) throw new StoreMisconfigured('SHARD_WITHOUT_URL', `ONCELEDGER_MYSQL_URLS names no shard ${shard}`)
    const database = openShardDatabase({ url, connectionsMax: OTHER_SHARD_CONNECTIONS })
    try {
      await assertShardIdentity(this.#control, database, shard)
    } catch (error) {
      await database.close()
      throw error
    }
    const meanwhile = this.#open.get(shard)
    if (meanwhile === undefined) {
      this.#open.set(shard, database)
      return database
    }
    await database.close()
    return meanwhile
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].map((database) => database.close()))
  }
}
