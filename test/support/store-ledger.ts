import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Command,
  type ContractRegistry,
  createCommand,
  createContractRegistry,
  encodeCommand,
  MONEY_CONTRACTS,
  parseBusinessKey,
  parseEventId,
  parseOperationId,
  parseTenantId,
  recordDigest,
  type SourceRecord,
} from '@onceledger/core'
import {
  type Adjudicator,
  type AdjudicatorObserver,
  type Batch,
  type BatchContext,
  type BatchItem,
  type BatchSource,
  claimBuckets,
  createAdjudicator,
  createDatabase,
  foundSystem,
  migrate,
  type Names,
  NO_FAILPOINTS,
  openNames,
  openShardDatabase,
  registerContracts,
  type Row,
  type ShardDatabase,
  type StoreFailpoints,
  withDatabase,
} from '@onceledger/ledger-store'

const TENANT = 'bank'
export const BUCKET_COUNT = 4

/** The first of the comma separated servers that the test run was given. */
export function serverUrl(): string {
  const url = (process.env.ONCELEDGER_MYSQL_URLS ?? '').split(',')[0]
  if (url === undefined || url === '') throw new Error('ONCELEDGER_MYSQL_URLS names no MySQL server')
  return url
}

export function nowUs(): bigint {
  return BigInt(Date.now()) * 1000n
}

/** A fresh UUIDv7 (RFC 9562 section 5.7) of the given time in milliseconds. */
export function uuidv7(timeMs = Date.now()): string {
  const time = timeMs.toString(16).padStart(12, '0')
  const random = randomBytes(10).toString('hex')
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`
}

/** What a test says about one command; everything else is made up afresh. */
export interface CommandSpec {
  readonly type?: string
  readonly version?: number
  readonly tenant?: string
  readonly key?: string
  readonly bucket?: number
  readonly eventId?: string
  readonly operationId?: string
  readonly aggregateVersion?: bigint
  readonly data?: Readonly<Record<string, unknown>>
  readonly value?: Uint8Array
}

interface BatchOptions {
  readonly partition?: number
  readonly redelivery?: boolean
  readonly expectedOffset?: bigint
  readonly buckets?: readonly number[]
}

interface AdjudicatorSetup {
  readonly database?: ShardDatabase
  readonly observer?: AdjudicatorObserver
  readonly failpoints?: StoreFailpoints
  readonly nowUs?: () => bigint
  readonly registry?: ContractRegistry
  /** Without it nothing is kept for results. */
  readonly publishing?: boolean
  readonly bindings?: NonNullable<BatchContext['bindings']>
  readonly mayPark?: NonNullable<BatchContext['mayPark']>
}

/** One shard and its control database, both new and owned by one test. */
export interface StoreLedger {
  readonly url: string
  readonly controlUrl: string
  readonly database: ShardDatabase
  readonly control: ShardDatabase
  readonly registry: ContractRegistry
  readonly names: Names
  readonly topic: string
  /** An adjudicator of its own memory; waits between attempts are cut to a hundredth. */
  adjudicator(setup?: AdjudicatorSetup): Adjudicator
  /** What a sweep needs, and an adjudicator besides its chance and its sleep. */
  context(setup?: AdjudicatorSetup): BatchContext
  /** A batch of these commands at the next offsets of the partition, as a consumer would have fetched it. */
  batch(specs: readonly (CommandSpec | BatchItem)[], options?: BatchOptions): Batch
  /** Rows of one statement, outside every transaction. */
  rows(sql: string): Promise<Row[]>
  /** The first column of the first row, as text. */
  value(sql: string): Promise<string>
  drop(): Promise<void>
}

export async function createStoreLedger(connectionsMax = 6): Promise<StoreLedger> {
  const name = `store_${randomBytes(6).toString('hex')}`
  const url = withDatabase(serverUrl(), name)
  const controlUrl = withDatabase(serverUrl(), `${name}_control`)
  await Promise.all([createDatabase(url), createDatabase(controlUrl)])
  const database = openShardDatabase({ url, connectionsMax })
  const control = openShardDatabase({ url: controlUrl, connectionsMax: 2 })
  const registry = createContractRegistry(MONEY_CONTRACTS)
  const topic = `topic-${name}`
  await Promise.all([migrate(control, 'control', nowUs()), migrate(database, 'shard', nowUs())])
  await foundSystem(control, { topic, bucketCount: BUCKET_COUNT, shardCount: 1 })
  await claimBuckets(control, database, 0)
  const names = await openNames(control, registry)
  await registerContracts(database, registry, names, nowUs())

  const nextOffsets = new Map<number, bigint>()
  const context = (setup: AdjudicatorSetup = {}): BatchContext => ({
    database: setup.database ?? database,
    names,
    registry: setup.registry ?? registry,
    bucketCount: BUCKET_COUNT,
    publishing: setup.publishing ?? false,
    ...(setup.bindings === undefined ? {} : { bindings: setup.bindings }),
    ...(setup.mayPark === undefined ? {} : { mayPark: setup.mayPark }),
    nowUs: setup.nowUs ?? nowUs,
    failpoints: setup.failpoints ?? NO_FAILPOINTS,
  })
  const rows = async (sql: string): Promise<Row[]> => (await database.withSession((session) => session.run(sql))).at(-1) ?? []
  return {
    url,
    controlUrl,
    database,
    control,
    registry,
    names,
    topic,
    adjudicator: (setup = {}) =>
      createAdjudicator({
        ...context(setup),
        random: Math.random,
        sleep: (ms) => delay(ms / 100),
        ...(setup.observer === undefined ? {} : { observer: setup.observer }),
      }),
    context,
    batch(specs, options = {}) {
      const partition = options.partition ?? 0
      const first = options.expectedOffset ?? nextOffsets.get(partition) ?? 0n
      const items = specs.map((spec, i) => toItem(spec, registry, { topic, partition, offset: first + BigInt(i) }))
      const next = first + BigInt(items.length)
      if (next > (nextOffsets.get(partition) ?? 0n)) nextOffsets.set(partition, next)
      return batchOf(items, { topic, partition, expectedOffset: first, nextOffset: next }, options)
    },
    rows,
    value: async (sql) => String((await rows(sql))[0]?.[0]),
    async drop() {
      await rows(`DROP DATABASE IF EXISTS ${name}; DROP DATABASE IF EXISTS ${name}_control`)
      await Promise.all([database.close(), control.close()])
    },
  }
}

function batchOf(items: readonly BatchItem[], position: Omit<BatchSource, 'lastDigestHex' | 'redelivery'>, options: BatchOptions): Batch {
  const last = items.at(-1)
  const lastDigestHex = last === undefined ? '00'.repeat(32) : recordDigest(recordOfItem(last)).toString('hex')
  const redelivery = options.redelivery === undefined ? {} : { redelivery: options.redelivery }
  return { source: { ...position, lastDigestHex, ...redelivery }, items, buckets: options.buckets ?? [position.partition] }
}

function recordOfItem(item: BatchItem): SourceRecord {
  return item.kind === 'command' ? item.command.record : item.parked.record
}

/** The same command or refused message at another place in the log; a spec becomes a command there. */
function toItem(spec: CommandSpec | BatchItem, registry: ContractRegistry, position: SourceRecord['position']): BatchItem {
  if (!('kind' in spec)) return { kind: 'command', command: toCommand(spec, registry, position) }
  if (spec.kind === 'refused') return { kind: 'refused', parked: { ...spec.parked, record: { ...spec.parked.record, position } } }
  return { kind: 'command', command: { ...spec.command, record: { ...spec.command.record, position } } }
}

function toCommand(spec: CommandSpec, registry: ContractRegistry, position: SourceRecord['position']): Command {
  const type = spec.type ?? 'deposit'
  const contract = registry.find(type, spec.version ?? 1)
  if (contract === undefined) throw new Error(`no contract ${type}`)
  const tenant = spec.tenant ?? TENANT
  const key = spec.key ?? 'alice'
  const data = spec.data ?? { amount: '100', currency: 'CZK' }
  const eventId = spec.eventId ?? uuidv7()
  const operationId = contract.identity === 'event' ? undefined : (spec.operationId ?? uuidv7())
  const encoded = encodeCommand({
    type: `${type}.v${contract.version}`,
    tenantId: tenant,
    businessKey: key,
    eventId,
    ...(operationId === undefined ? {} : { operationId }),
    ...(spec.aggregateVersion === undefined ? {} : { aggregateVersion: spec.aggregateVersion }),
    source: '/test',
    data: data as Readonly<Record<string, string>>,
  })
  const headers = Object.entries(encoded.headers).map(([name, text]) => [name, Buffer.from(text)] as const)
  const value = spec.value ?? Buffer.from(encoded.value)
  return createCommand({
    record: { position, key: Buffer.from(encoded.key), value, headers, timestampMs: BigInt(Date.now()) },
    contract,
    tenantId: parseTenantId(tenant),
    businessKey: parseBusinessKey(key),
    bucket: spec.bucket ?? position.partition,
    eventId: parseEventId(eventId),
    operationId: operationId === undefined ? null : parseOperationId(operationId),
    aggregateVersion: spec.aggregateVersion ?? null,
    data,
  })
}
