import { randomBytes } from 'node:crypto'
import { type ContractRegistry, createContractRegistry, MONEY_CONTRACTS } from '@onceledger/core'
import {
  defaultControlUrl,
  foundLedger,
  type Names,
  openNames,
  openShardDatabase,
  type ShardDatabase,
  withDatabase,
} from '@onceledger/ledger-store'
import { BENCH_BUCKETS, BENCH_TENANT } from './workload.ts'

const QUERY_TIMEOUT_MS = 60_000

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

export function benchRegistry(): ContractRegistry {
  return createContractRegistry(MONEY_CONTRACTS)
}

export function randomName(): string {
  return `bench_${randomBytes(5).toString('hex')}`
}

export async function createBenchLedger(
  serverUrl: string,
  connections: number,
  registry: ContractRegistry = benchRegistry(),
): Promise<BenchLedger> {
  const name = randomName()
  const url = withDatabase(serverUrl, name)
  const controlUrl = defaultControlUrl(url)
  const topic = 'bench'
  await foundLedger({ controlUrl, shardUrls: [url], topic, bucketCount: BENCH_BUCKETS, registry, nowUs: nowUs() })
  const database = openShardDatabase({ url, connectionsMax: connections, queryTimeoutMs: QUERY_TIMEOUT_MS })
  const control = openShardDatabase({ url: controlUrl, connectionsMax: 1 })
  const names = await openNames(control, registry)
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
