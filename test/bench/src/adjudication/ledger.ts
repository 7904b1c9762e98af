import { randomBytes } from 'node:crypto'
import { type ContractRegistry, createContractRegistry, MONEY_CONTRACTS } from '@onceledger/core'
import {
  claimBuckets,
  createDatabase,
  foundSystem,
  migrate,
  type Names,
  openNames,
  openShardDatabase,
  registerContracts,
  type ShardDatabase,
  withDatabase,
} from '@onceledger/ledger-store'
import { BENCH_BUCKETS, BENCH_TENANT } from './workload.ts'

/** A fresh ledger of one shard, for one timed run. */
export interface BenchLedger {
  readonly database: ShardDatabase
  readonly names: Names
  readonly registry: ContractRegistry
  readonly url: string
  readonly topic: string
  drop(): Promise<void>
}

export function nowUs(): bigint {
  return BigInt(Date.now()) * 1000n
}

export async function createBenchLedger(serverUrl: string, connections: number): Promise<BenchLedger> {
  const name = `bench_${randomBytes(5).toString('hex')}`
  const url = withDatabase(serverUrl, name)
  const controlUrl = withDatabase(serverUrl, `${name}_control`)
  await createDatabase(url)
  await createDatabase(controlUrl)
  const database = openShardDatabase({ url, connectionsMax: connections, queryTimeoutMs: 60_000 })
  const control = openShardDatabase({ url: controlUrl, connectionsMax: 1 })
  const registry = createContractRegistry(MONEY_CONTRACTS)
  const topic = 'bench'
  await migrate(control, 'control', nowUs())
  await migrate(database, 'shard', nowUs())
  await foundSystem(control, { topic, bucketCount: BENCH_BUCKETS, shardCount: 1 })
  await claimBuckets(control, database, 0)
  const names = await openNames(control, registry)
  await registerContracts(database, registry, names, nowUs())
  await names.resolveTenants([BENCH_TENANT])
  return {
    database,
    names,
    registry,
    url,
    topic,
    async drop() {
      await database.withSession((session) => session.run(`DROP DATABASE ${name}; DROP DATABASE ${name}_control`))
      await database.close()
      await control.close()
    },
  }
}
