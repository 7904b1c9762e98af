import { bindingKey, type Command, type StoredBinding } from '@onceledger/core'
import { bucketOfKey, ownerOf, type ShardMap } from '@onceledger/shard-map'
import { StoreUnavailable } from './errors.ts'
import type { Names } from './names.ts'
import { Packet } from './packet.ts'
import type { Session, ShardDatabase } from './session.ts'
import { insertBindings, parseBindings, selectBindings } from './sql/binding.ts'
import { lockBuckets, parseBuckets } from './sql/fence.ts'

export const BINDING_FAILPOINTS = ['binding.before-claim', 'binding.after-claim'] as const
export type BindingFailpoint = (typeof BINDING_FAILPOINTS)[number]

export interface BindingDeskOptions {
  readonly shard: number
  readonly names: Names
  /** The plan of the control schema. Each shard's own fence decides. */
  readonly loadMap: () => Promise<ShardMap>
  /** Of another shard, checked to be that one. */
  readonly databaseOf: (shard: number) => Promise<ShardDatabase>
  /** Microseconds since 1970, UTC. */
  readonly nowUs: () => bigint
  readonly failpoints: { hit(name: BindingFailpoint): void | Promise<void> }
}

/**
 * Where tenant-wide identities are claimed (RTE-2). An identity has one home bucket, by its own hash, wherever the business keys of those who use it
 * live: the unique key in the shard of that bucket lets one business key and one intent have it.
 */
export interface BindingDesk {
  /** The home of the command's identity, and whether this shard claims it in the transaction that judges. */
  placeOf(command: Command): { readonly bucket: number; readonly local: boolean }
  /** Home buckets in this shard, to be fenced by the transaction that judges. */
  localBuckets(commands: readonly Command[]): number[]
  /**
   * Claims the identities at home in other shards, one transaction in each of them, and tells what stands. A claim has no effect and belongs to an intent,
   * so one that is left behind by a crash is found and used by the retry.
   * @throws the driver's error, to be tried again; StoreUnavailable `HOME_BUCKET_MOVED` where the home is not that shard's any more.
   */
  claimRemote(commands: readonly Command[]): Promise<Map<string, StoredBinding>>
}

/** Loads the shard map, and again whenever it proves wrong. */
export async function openBindingDesk(options: BindingDeskOptions): Promise<BindingDesk> {
  let map = await options.loadMap()

  function placeOf(command: Command): { bucket: number; shard: number; local: boolean } {
    const bucket = bucketOfKey(keyOf(command), map.bucketCount)
    const { shard } = ownerOf(map, bucket)
    return { bucket, shard, local: shard === options.shard }
  }

  async function claimAt(shard: number, commands: readonly Command[]): Promise<Map<string, StoredBinding>> {
    const buckets = [...new Set(commands.map((command) => placeOf(command).bucket))].sort((left, right) => left - right)
    const database = await options.databaseOf(shard)
    await options.failpoints.hit('binding.before-claim')
    const bindings = await database.withSession((session) => claim(session, buckets, commands, options, (command) => placeOf(command).bucket))
    await options.failpoints.hit('binding.after-claim')
    if (bindings !== null) return bindings
    map = await options.loadMap()
    throw new StoreUnavailable('HOME_BUCKET_MOVED', `a home bucket of tenant-wide identities is not shard ${shard}'s any more`)
  }

  return {
    placeOf,
    localBuckets(commands) {
      const places = commands.filter(isTenantWide).map(placeOf)
      return [...new Set(places.flatMap(({ bucket, local }) => (local ? [bucket] : [])))]
    },
    async claimRemote(commands) {
      const byShard = Map.groupBy(
        commands.filter((command) => isTenantWide(command) && !placeOf(command).local),
        (command) => placeOf(command).shard,
      )
      const claimed = new Map<string, StoredBinding>()
      for (const [shard, of] of byShard) for (const [key, binding] of await claimAt(shard, of)) claimed.set(key, binding)
      return claimed
    },
  }
}

function isTenantWide({ contract }: Command): boolean {
  return contract.scope === 'tenant'
}

function keyOf({ tenantId, contract, operationId }: Command): string {
  return bindingKey(tenantId, contract.name, operationId ?? '')
}

/** What stands for each identity after the transaction, or null where a bucket is not that shard's: nothing was then claimed. */
async function claim(
  session: Session,
  buckets: readonly number[],
  commands: readonly Command[],
  { names, nowUs }: BindingDeskOptions,
  homeBucketOf: (command: Command) => number,
): Promise<Map<string, StoredBinding> | null> {
  const packet = new Packet()
  packet.add('START TRANSACTION')
  const fences = packet.add(lockBuckets(buckets))
  const stored = packet.add(selectBindings(commands, names))
  await packet.send(session)

  const active = parseBuckets(fences()).filter(({ state }) => state === 'ACTIVE')
  const bindings = parseBindings(stored(), commands)
  const missing = new Map<string, Command>()
  for (const command of commands) {
    const key = keyOf(command)
    if (!bindings.has(key) && !missing.has(key)) missing.set(key, command)
  }
  if (active.length < buckets.length || missing.size === 0) {
    await session.run('ROLLBACK')
    return active.length < buckets.length ? null : bindings
  }
  const rows = [...missing.values()].sort((left, right) => ((left.operationIdHex ?? '') < (right.operationIdHex ?? '') ? -1 : 1))
  const inserts = insertBindings(
    rows.map((command) => ({ command })),
    names,
    homeBucketOf,
    nowUs(),
  )
  await session.run([inserts, 'COMMIT'].join(';'))
  for (const [key, { contract, digest, businessKey }] of missing)
    bindings.set(key, { contractVersion: contract.version, digest, businessKey })
  return bindings
}
