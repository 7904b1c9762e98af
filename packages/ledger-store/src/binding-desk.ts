import { bindingKey, Bug, type Command, type StoredBinding } from '@onceledger/core'
import { homeBucketOf, ownerOf, type ShardMap } from '@onceledger/shard-map'
import { StoreUnavailable } from './errors.ts'
import { classifyFault, isDatabaseFault } from './fault.ts'
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

/** Where the identities of one batch are claimed, for one attempt at it: a map that is loaded meanwhile does not change it. */
export interface BindingPlan {
  /** Home buckets in this shard, to be fenced by the transaction that judges. */
  readonly localBuckets: readonly number[]
  /** The home of an identity that the transaction claims which judges; null where it was claimed before, or is none. */
  localBucketOf(command: Command): number | null
  /**
   * Claims the identities at home in other shards, and tells what stands. A claim has no effect and belongs to an intent, so one that is left behind by a
   * crash is found and used by the retry.
   * @throws the driver's error, to be tried again; StoreUnavailable `HOME_SHARD_AWAY`, or `HOME_BUCKET_MOVED` where the home is not that shard's any more.
   */
  claimRemote(): Promise<Map<string, StoredBinding>>
}

/**
 * Where tenant-wide identities are claimed (RTE-2). An identity has one home bucket, by its own hash, wherever the business keys of those who use it
 * live: the unique key in the shard of that bucket lets one business key and one intent have it.
 */
export interface BindingDesk {
  plan(commands: readonly Command[]): BindingPlan
  /** Loads the map again: a fence has refused what it says. */
  refresh(): Promise<void>
}

interface Place {
  readonly bucket: number
  readonly shard: number
}

/** Identities claimed in one transaction at most. */
const CLAIMS_MAX = 1_000

/** Loads the shard map, and again whenever it proves wrong. */
export async function openBindingDesk(options: BindingDeskOptions): Promise<BindingDesk> {
  const { shard: own } = options
  let map = await options.loadMap()
  const asked = new AskedShards()
  async function refresh(): Promise<void> {
    map = await options.loadMap()
  }

  function placeOf({ tenantId, contract, operationId }: Command): Place {
    if (operationId === null) throw new Bug(`a ${contract.name} has no operation identity`)
    const bucket = homeBucketOf(tenantId, contract.name, operationId, map.bucketCount)
    return { bucket, shard: ownerOf(map, bucket).shard }
  }

  async function claimAt(shard: number, claims: readonly Claim[]): Promise<Map<string, StoredBinding>> {
    const bindings = await asked.ask(shard, async () => {
      const database = await options.databaseOf(shard)
      await options.failpoints.hit('binding.before-claim')
      return database.withSession((session) => claim(session, claims, options))
    })
    await options.failpoints.hit('binding.after-claim')
    if (bindings !== null) return bindings
    await refresh()
    throw new StoreUnavailable('HOME_BUCKET_MOVED', `a home bucket of tenant-wide identities is not active in shard ${shard}`)
  }

  return {
    refresh,
    plan(commands) {
      const claims = commands.filter(isTenantWide).map((command) => ({ command, ...placeOf(command) }))
      const byShard = Map.groupBy(claims, ({ shard }) => shard)
      const local = new Map(byShard.get(own)?.map(({ command, bucket }) => [command, bucket]))
      byShard.delete(own)
      return {
        localBuckets: [...new Set(local.values())],
        localBucketOf: (command) => local.get(command) ?? null,
        async claimRemote() {
          const claimed = new Map<string, StoredBinding>()
          for (const [shard, uses] of byShard) {
            const first = firstOfEach(uses)
            for (let from = 0; from < first.length; from += CLAIMS_MAX)
              for (const [key, binding] of await claimAt(shard, first.slice(from, from + CLAIMS_MAX))) claimed.set(key, binding)
          }
          return claimed
        },
      }
    },
  }
}

/**
 * A shard that does not answer is asked by one batch at a time, so that those who wait for it do not use up what the others need: every other batch that needs
 * it is told at once to come back later.
 */
class AskedShards {
  readonly #asking = new Map<number, number>()
  readonly #away = new Set<number>()

  async ask<T>(shard: number, question: () => Promise<T>): Promise<T> {
    const asking = this.#asking.get(shard) ?? 0
    if (asking > 0 && this.#away.has(shard)) throw away(shard, null)
    this.#asking.set(shard, asking + 1)
    try {
      const answer = await question()
      this.#away.delete(shard)
      return answer
    } catch (error) {
      if (!isDatabaseFault(error) || classifyFault(error).connectionUsable) throw error
      // The first fault may be no more than a lost connection; the batch tries again.
      if (this.#away.has(shard)) throw away(shard, error)
      this.#away.add(shard)
      throw error
    } finally {
      this.#asking.set(shard, (this.#asking.get(shard) ?? 1) - 1)
    }
  }
}

function away(shard: number, cause: unknown): StoreUnavailable {
  const code = cause === null ? '' : ` (${classifyFault(cause).code})`
  return new StoreUnavailable('HOME_SHARD_AWAY', `shard ${shard}, where tenant-wide identities are at home, does not answer${code}`, {
    cause,
  })
}

/** An identity that is asked for, and its home. */
interface Claim {
  readonly command: Command
  readonly bucket: number
}

/** What stands for each identity after the transaction, or null where a bucket is not that shard's: nothing was then claimed. */
async function claim(
  session: Session,
  claims: readonly Claim[],
  { names, nowUs }: BindingDeskOptions,
): Promise<Map<string, StoredBinding> | null> {
  const buckets = [...new Set(claims.map(({ bucket }) => bucket))].sort((left, right) => left - right)
  const commands = claims.map(({ command }) => command)
  const packet = new Packet()
  packet.add('START TRANSACTION')
  const fences = packet.add(lockBuckets(buckets))
  const stored = packet.add(selectBindings(commands, names))
  await packet.send(session)

  const active = parseBuckets(fences()).filter(({ state }) => state === 'ACTIVE')
  const bindings = parseBindings(stored(), commands)
  // In the order of their keys, so that two transactions never wait for each other in a circle.
  const missing = claims.filter(({ command }) => !bindings.has(keyOf(command))).sort(byOperation)
  if (active.length < buckets.length || missing.length === 0) {
    await session.run('ROLLBACK')
    return active.length < buckets.length ? null : bindings
  }
  await session.run([insertBindings(missing, names, nowUs()), 'COMMIT'].join(';'))
  for (const { command } of missing) {
    const { contract, digest, businessKey } = command
    bindings.set(keyOf(command), { contractVersion: contract.version, digest, businessKey })
  }
  return bindings
}

/** The first use of each identity is the one that claims it, where nobody has yet. */
function firstOfEach(claims: readonly Claim[]): Claim[] {
  const first = new Map<string, Claim>()
  for (const one of claims) if (!first.has(keyOf(one.command))) first.set(keyOf(one.command), one)
  return [...first.values()]
}

function byOperation(left: Claim, right: Claim): number {
  return (left.command.operationIdHex ?? '') < (right.command.operationIdHex ?? '') ? -1 : 1
}

function isTenantWide({ contract }: Command): boolean {
  return contract.scope === 'tenant'
}

function keyOf({ tenantId, contract, operationId }: Command): string {
  return bindingKey(tenantId, contract.name, operationId ?? '')
}
