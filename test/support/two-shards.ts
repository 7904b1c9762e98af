import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type CommandToSend, createContractRegistry, decodeRecord, encodeCommand, MONEY_CONTRACTS, recordDigest } from '@onceledger/core'
import {
  type Adjudicator,
  type AdjudicatorOptions,
  type Batch,
  type BatchItem,
  type BindingDeskOptions,
  createAdjudicator,
  defaultControlUrl,
  foundLedger,
  loadShardMap,
  NO_FAILPOINTS,
  openBindingDesk,
  openNames,
  openShardDatabase,
  type ShardDatabase,
  withDatabase,
} from '@onceledger/ledger-store'
import { bucketOf, bucketOfKey, homeBucketOf, ownerOf, type ShardMap } from '@onceledger/shard-map'
import { nowUs, serverUrl, uuidv7 } from './store-ledger.ts'

const BUCKETS = 8
const TENANT = 'bank'

interface ShardSetup {
  readonly failpoints?: BindingDeskOptions['failpoints']
  readonly databaseOf?: BindingDeskOptions['databaseOf']
  /** Changes the map that the control schema gives. */
  readonly seeMap?: (map: ShardMap) => ShardMap
  readonly observer?: NonNullable<AdjudicatorOptions['observer']>
}

/** A ledger of two shards in two databases of one server. */
export interface TwoShards {
  readonly databases: readonly ShardDatabase[]
  adjudicator(shard: number, setup?: ShardSetup): Promise<Adjudicator>
  /** A business key whose bucket belongs to the shard. */
  keyIn(shard: number, no?: number): string
  /** An operation id of `pay` whose identity is at home in the shard. */
  identityIn(shard: number, no?: number): string
  command(type: string, key: string, operationId: string, data: Readonly<Record<string, string>>): CommandToSend
  /** The next batch of the partition of the commands' key; all must have the same. */
  batch(commands: readonly CommandToSend[]): Batch
  shardOf(key: string): number
  partitionOf(key: string): number
  drop(): Promise<void>
}

export async function createTwoShards(): Promise<TwoShards> {
  const name = `two_${randomBytes(5).toString('hex')}`
  const urls = [0, 1].map((shard) => withDatabase(serverUrl(), `${name}_${shard}`))
  const controlUrl = defaultControlUrl(urls[0] ?? '')
  const registry = createContractRegistry(MONEY_CONTRACTS)
  await foundLedger({ controlUrl, shardUrls: urls, topic: name, bucketCount: BUCKETS, registry, nowUs: nowUs() })
  const control = openShardDatabase({ url: controlUrl, connectionsMax: 4 })
  const databases = urls.map((url) => openShardDatabase({ url, connectionsMax: 6 }))
  const names = await openNames(control, registry)
  const map = await loadShardMap(control)
  const nextOffsets = new Map<number, bigint>()
  const shardOf = (key: string): number => ownerOf(map, bucketOf(TENANT, key, BUCKETS)).shard
  const databaseIn = (shard: number): ShardDatabase => {
    const database = databases[shard]
    if (database === undefined) throw new Error(`there is no shard ${shard}`)
    return database
  }
  return {
    databases,
    shardOf,
    partitionOf: (key) => bucketOf(TENANT, key, BUCKETS),
    async adjudicator(shard, setup = {}) {
      const bindings = await openBindingDesk({
        shard,
        names,
        loadMap: async () => (setup.seeMap ?? ((given) => given))(await loadShardMap(control)),
        databaseOf: setup.databaseOf ?? (async (other) => databaseIn(other)),
        nowUs,
        failpoints: setup.failpoints ?? { hit: () => undefined },
      })
      return createAdjudicator({
        database: databaseIn(shard),
        names,
        registry,
        bucketCount: BUCKETS,
        publishing: false,
        bindings,
        nowUs,
        failpoints: NO_FAILPOINTS,
        random: Math.random,
        sleep: (ms) => delay(ms / 100),
        ...(setup.observer === undefined ? {} : { observer: setup.observer }),
      })
    },
    keyIn: (shard, no = 0) =>
      nth(
        no,
        (i) => `account-${i}`,
        (key) => shardOf(key) === shard,
      ),
    identityIn: (shard, no = 0) =>
      nth(
        no,
        (i) => `payment-${i}`,
        (id) => ownerOf(map, homeBucketOf(TENANT, 'pay', id, BUCKETS)).shard === shard,
      ),
    command: (type, businessKey, operationId, data) => {
      return { type, tenantId: TENANT, businessKey, eventId: uuidv7(), operationId, source: '/test', data: { currency: 'EUR', ...data } }
    },
    batch(commands) {
      const partition = bucketOf(TENANT, commands[0]?.businessKey ?? '', BUCKETS)
      const expectedOffset = nextOffsets.get(partition) ?? 0n
      nextOffsets.set(partition, expectedOffset + BigInt(commands.length))
      const items = commands.map((command, i): BatchItem => {
        const { key, value, headers } = encodeCommand(command)
        const record = {
          position: { topic: name, partition, offset: expectedOffset + BigInt(i) },
          key: Buffer.from(key),
          value: Buffer.from(value),
          headers: Object.entries(headers).map(([header, text]) => [header, Buffer.from(text)] as const),
          timestampMs: 0n,
        }
        return decodeRecord(record, { registry, bucketOf: (of) => bucketOfKey(of, BUCKETS) })
      })
      const last = items.at(-1)
      if (last?.kind !== 'command') throw new Error('the last command of a batch is none')
      const source = {
        topic: name,
        partition,
        expectedOffset,
        nextOffset: expectedOffset + BigInt(items.length),
        lastDigestHex: recordDigest(last.command.record).toString('hex'),
      }
      return { source, items, buckets: [partition] }
    },
    async drop() {
      for (const [shard, database] of databases.entries())
        await database.withSession((session) =>
          session.run(`DROP DATABASE ${name}_${shard}; DROP DATABASE IF EXISTS ${name}_${shard}_control`),
        )
      await Promise.all([...databases, control].map((database) => database.close()))
    },
  }
}

function nth(no: number, make: (i: number) => string, fits: (text: string) => boolean): string {
  for (let i = 0, found = 0; i < 10_000; i++) if (fits(make(i)) && found++ === no) return make(i)
  throw new Error('nothing fits')
}
