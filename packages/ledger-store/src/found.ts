import type { ContractRegistry } from '@onceledger/core'
import { registerContracts } from './contract-store.ts'
import { claimBuckets, foundSystem } from './control.ts'
import { createDatabase } from './create-database.ts'
import { migrate } from './migrate.ts'
import { openNames } from './names.ts'
import { openShardDatabase, type ShardDatabase } from './session.ts'

export interface FoundLedgerOptions {
  readonly controlUrl: string
  /** One for each shard, in the order of their numbers. */
  readonly shardUrls: readonly string[]
  readonly topic: string
  readonly bucketCount: number
  readonly registry: ContractRegistry
  /** Microseconds since 1970, UTC. */
  readonly nowUs: bigint
}

export interface FoundedLedger {
  /** Migrations run now, as `control/0001_control.sql` or `shard-0/0001_ledger.sql`. Empty when everything stood already. */
  readonly migrated: readonly string[]
}

/**
 * Brings a system into being, or up to this release: databases, schemas, shard map, fences and contracts. Safe to repeat and to run twice
 * at once; what is fixed at birth is compared and never changed.
 * @throws StoreMisconfigured where the servers hold another system, a newer one, or an emptied shard.
 */
export async function foundLedger(options: FoundLedgerOptions): Promise<FoundedLedger> {
  const { controlUrl, shardUrls, topic, bucketCount, registry, nowUs } = options
  for (const url of new Set([controlUrl, ...shardUrls])) await createDatabase(url)
  const control = openShardDatabase({ url: controlUrl, connectionsMax: 2 })
  const shards = shardUrls.map((url) => openShardDatabase({ url, connectionsMax: 1 }))
  try {
    const migrated = (await migrate(control, 'control', nowUs)).map((name) => `control/${name}`)
    await foundSystem(control, { topic, bucketCount, shardCount: shards.length })
    const names = await openNames(control, registry)
    for (const [shard, database] of shards.entries()) {
      migrated.push(...(await migrateShard(database, shard, nowUs)))
      await claimBuckets(control, database, shard)
      await registerContracts(database, registry, names, nowUs)
    }
    return { migrated }
  } finally {
    await Promise.allSettled([control, ...shards].map((database) => database.close()))
  }
}

async function migrateShard(database: ShardDatabase, shard: number, nowUs: bigint): Promise<string[]> {
  return (await migrate(database, 'shard', nowUs)).map((name) => `shard-${shard}/${name}`)
}
