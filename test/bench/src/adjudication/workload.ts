import {
  type Command,
  type ContractRegistry,
  createCommand,
  parseBusinessKey,
  parseEventId,
  parseOperationId,
  parseTenantId,
  recordDigest,
} from '@onceledger/core'
import type { Batch } from '@onceledger/ledger-store'
import { bucketOf } from '@onceledger/shard-map'

export const BENCH_TENANT = 'bench'
export const BENCH_BUCKETS = 64

export interface WorkloadOptions {
  readonly registry: ContractRegistry
  readonly topic: string
  /** Contract, in version 1; `deposit` unless given. */
  readonly type?: string
  readonly events: number
  readonly accounts: number
  /** Partitions that get work at the same time: one per connection, so that accounts are disjoint. */
  readonly lanes: number
  readonly batchSize: number
  /** Every second event repeats an earlier operation under a new event id. */
  readonly halfDuplicates: boolean
  readonly newId: () => string
}

/** Batches by lane. A lane works through partitions of its own, so that two lanes never touch one account. */
export type Lanes = readonly (readonly Batch[])[]

/** Deposits over all accounts, in batches of one partition, the same rows for every variant. */
export function buildLanes(options: WorkloadOptions): Lanes {
  const keysByBucket = spreadAccounts(options.accounts)
  const buckets = keysByBucket.flatMap((keys, bucket) => (keys.length > 0 ? [bucket] : []))
  const batchCount = Math.ceil(options.events / options.batchSize)
  const lanes: Batch[][] = Array.from({ length: options.lanes }, () => [])
  const nextOffsets = new Map<number, bigint>()
  const earlier = new Map<number, Command[]>()
  for (let i = 0; i < batchCount; i++) {
    const lane = i % options.lanes
    const own = buckets.filter((_, index) => index % options.lanes === lane)
    const bucket = own[Math.floor(i / options.lanes) % own.length] ?? 0
    const expectedOffset = nextOffsets.get(bucket) ?? 0n
    const commands = buildCommands(options, bucket, keysByBucket[bucket] ?? [], expectedOffset, earlier.get(bucket) ?? [])
    earlier.set(bucket, commands)
    nextOffsets.set(bucket, expectedOffset + BigInt(commands.length))
    lanes[lane]?.push(toBatch(options.topic, bucket, expectedOffset, commands))
  }
  return lanes
}

function spreadAccounts(accounts: number): string[][] {
  const keysByBucket: string[][] = Array.from({ length: BENCH_BUCKETS }, () => [])
  for (let i = 0; i < accounts; i++) {
    const key = `account-${i}`
    keysByBucket[bucketOf(BENCH_TENANT, key, BENCH_BUCKETS)]?.push(key)
  }
  return keysByBucket
}

function buildCommands(
  options: WorkloadOptions,
  bucket: number,
  keys: readonly string[],
  firstOffset: bigint,
  earlier: readonly Command[],
): Command[] {
  const contract = options.registry.find(options.type ?? 'deposit', 1)
  if (contract === undefined) throw new Error(`no contract ${options.type ?? 'deposit'}.v1`)
  const commands: Command[] = []
  for (let i = 0; i < options.batchSize; i++) {
    const repeated = options.halfDuplicates && i % 2 === 1 ? (earlier[i - 1] ?? commands[i - 1]) : undefined
    const position = { topic: options.topic, partition: bucket, offset: firstOffset + BigInt(i) }
    const record = { position, key: null, value: null, headers: [], timestampMs: 0n }
    const key = repeated?.businessKey ?? parseBusinessKey(keys[Number(position.offset % BigInt(keys.length))] ?? '')
    commands.push(
      createCommand({
        record,
        contract,
        tenantId: parseTenantId(BENCH_TENANT),
        businessKey: key,
        bucket,
        eventId: parseEventId(options.newId()),
        operationId: repeated?.operationId ?? parseOperationId(options.newId()),
        aggregateVersion: null,
        data: repeated?.data ?? { amount: String(100 + (i % 900)), currency: 'EUR' },
      }),
    )
  }
  return commands
}

function toBatch(topic: string, bucket: number, expectedOffset: bigint, commands: readonly Command[]): Batch {
  const last = commands.at(-1)
  if (last === undefined) throw new Error('a batch needs commands')
  const nextOffset = expectedOffset + BigInt(commands.length)
  const lastDigestHex = recordDigest(last.record).toString('hex')
  return {
    source: { topic, partition: bucket, expectedOffset, nextOffset, lastDigestHex },
    items: commands.map((command) => ({ kind: 'command', command })),
    buckets: [bucket],
  }
}
