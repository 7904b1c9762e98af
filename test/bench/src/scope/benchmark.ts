import { setTimeout as delay } from 'node:timers/promises'
import { type Contract, type ContractRegistry, createContractRegistry, MONEY_CONTRACTS } from '@onceledger/core'
import { type BindingDesk, createAdjudicator, NO_FAILPOINTS, openBindingDesk } from '@onceledger/ledger-store'
import { evenShardMap, type ShardMap } from '@onceledger/shard-map'
import { type BenchLedger, createBenchLedger, nowUs } from '../adjudication/ledger.ts'
import { BENCH_BUCKETS, buildLanes } from '../adjudication/workload.ts'
import { type Figure, figureOf, median, round, type Sample, sample } from '../measure.ts'

export interface ScopeBenchmarkOptions {
  readonly serverUrl: string
  readonly repeats: number
  readonly events: number
  readonly accounts: number
  readonly connections: number
  readonly batchSize: number
  readonly newId: () => string
  readonly onProgress: (line: string) => void
}

export interface ScopeReport {
  /** Fresh deposits whose identity is bound in the tenant, at home in the judging shard, to those of business-key scope. */
  readonly home_here_to_business_key: number
  /** The same, every identity at home in another shard (another database of the same server). */
  readonly home_elsewhere_to_business_key: number
  readonly figures: Readonly<Record<string, Figure>>
}

const SCOPES = ['business_key', 'home_here', 'home_elsewhere'] as const
type Scope = (typeof SCOPES)[number]
const TENANT_WIDE = 'deposit-tenant-wide'

/** The shipped contracts, and a deposit whose identity is tenant-wide: the same rows, so that the scope alone is compared. */
function scopeRegistry(): ContractRegistry {
  const deposit = MONEY_CONTRACTS.find(({ name, version }) => name === 'deposit' && version === 1)
  if (deposit === undefined) throw new Error('no contract deposit.v1')
  const tenantWide: Contract = { ...deposit, name: TENANT_WIDE, scope: 'tenant' }
  return createContractRegistry([...MONEY_CONTRACTS, tenantWide])
}

/** What a tenant-wide identity costs beside one of business-key scope: every variant in turn, then all again. */
export async function benchmarkScope(options: ScopeBenchmarkOptions): Promise<ScopeReport> {
  const runs = new Map<Scope, Sample[]>()
  for (let repeat = 1; repeat <= options.repeats; repeat++)
    for (const scope of SCOPES) {
      const result = await timeScope(options, scope)
      runs.set(scope, [...(runs.get(scope) ?? []), result])
      options.onProgress(`${repeat}/${options.repeats} ${scope.padEnd(16)} ${Math.round(result.events / result.seconds)} events/s`)
    }
  const rate = (scope: Scope, repeat: number): number => {
    const run = runs.get(scope)?.[repeat]
    return run === undefined ? Number.NaN : run.events / run.seconds
  }
  const toBusinessKey = (scope: Scope): number =>
    round(median(Array.from({ length: options.repeats }, (_, repeat) => rate(scope, repeat) / rate('business_key', repeat))), 2)
  return {
    home_here_to_business_key: toBusinessKey('home_here'),
    home_elsewhere_to_business_key: toBusinessKey('home_elsewhere'),
    figures: Object.fromEntries([...runs].map(([name, samples]) => [name, figureOf(samples)])),
  }
}

async function timeScope(options: ScopeBenchmarkOptions, scope: Scope): Promise<Sample> {
  const { events, accounts, connections, batchSize, newId } = options
  const registry = scopeRegistry()
  const ledger = await createBenchLedger(options.serverUrl, connections, registry)
  const home = await createBenchLedger(options.serverUrl, connections, registry)
  try {
    const type = scope === 'business_key' ? 'deposit' : TENANT_WIDE
    const lanes = buildLanes({
      registry,
      topic: 'bench',
      type,
      events,
      accounts,
      lanes: connections,
      batchSize,
      halfDuplicates: false,
      newId,
    })
    const bindings = await deskOf(ledger, home, scope)
    const adjudicator = createAdjudicator({
      database: ledger.database,
      names: ledger.names,
      registry,
      bucketCount: BENCH_BUCKETS,
      publishing: false,
      bindings,
      nowUs,
      failpoints: NO_FAILPOINTS,
      random: Math.random,
      sleep: (ms) => delay(ms),
    })
    return await sample({ events, mysqldPid: null }, async () => {
      await Promise.all(
        lanes.map(async (batches) => {
          for (const batch of batches) {
            const outcome = await adjudicator.judge(batch)
            if (outcome.kind !== 'committed') throw new Error(`the adjudicator answered ${outcome.kind}`)
          }
        }),
      )
    })
  } finally {
    await Promise.all([ledger.drop(), home.drop()])
  }
}

/** This process judges for shard 0; `home_elsewhere` gives all homes to shard 1. */
function deskOf(ledger: BenchLedger, home: BenchLedger, scope: Scope): Promise<BindingDesk> {
  const even = evenShardMap(BENCH_BUCKETS, 1)
  const shard = scope === 'home_elsewhere' ? 1 : 0
  const map: ShardMap = { ...even, owners: even.owners.map((owner) => ({ ...owner, shard })) }
  return openBindingDesk({
    shard: 0,
    names: ledger.names,
    loadMap: async () => map,
    databaseOf: async () => home.database,
    nowUs,
    failpoints: { hit: () => undefined },
  })
}
