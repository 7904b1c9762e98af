import { bucketsOfShard, evenShardMap, parseShardMap, type ShardMap } from '@onceledger/shard-map'
import { StoreMisconfigured } from './errors.ts'
import { classifyFault } from './fault.ts'
import type { Session, ShardDatabase } from './session.ts'
import { bytesLiteral, textLiteral } from './sql/literal.ts'

/** What is fixed when a system is founded: a bucket count cannot change, since it decides where every key lives (RTE-1). */
export interface SystemFoundation {
  readonly topic: string
  readonly bucketCount: number
  readonly shardCount: number
}

/**
 * Writes the settings and the even shard map of a new system, or checks that they are those of the system that stands.
 * @throws StoreMisconfigured `FOUNDATION_DIFFERS`
 */
export async function foundSystem(control: ShardDatabase, foundation: SystemFoundation): Promise<void> {
  try {
    await foundOnce(control, foundation)
  } catch (error) {
    // Two founders at once: there was no row to lock. The unique key let one win, and its settings stand now.
    if (classifyFault(error).kind !== 'duplicate-key') throw error
    await foundOnce(control, foundation)
  }
}

async function foundOnce(control: ShardDatabase, foundation: SystemFoundation): Promise<void> {
  await inTransaction(control, async (session) => {
    const stored = await lockSettings(session)
    const wanted = { topic: foundation.topic, bucket_count: String(foundation.bucketCount), shard_count: String(foundation.shardCount) }
    if (stored.size > 0) return assertSameFoundation(stored, wanted)
    const { owners } = evenShardMap(foundation.bucketCount, foundation.shardCount)
    await session.run(`INSERT INTO setting (name, value)
      VALUES ${Object.entries(wanted)
        .map(([name, value]) => `(${textLiteral(name)}, ${textLiteral(value)})`)
        .join(',')}, (${textLiteral(SYSTEM_ID)}, RANDOM_BYTES(16))`)
    await session.run(`INSERT INTO shard (shard_no, name)
      VALUES ${Array.from({ length: foundation.shardCount }, (_, shard) => `(${shard}, ${textLiteral(`shard-${shard}`)})`).join(',')}`)
    await session.run(`INSERT INTO bucket_map (bucket, shard_no, epoch, state)
      VALUES ${owners.map(({ shard, epoch, state }, bucket) => `(${bucket}, ${shard}, ${epoch}, '${state}')`).join(',')}`)
  })
}

const CLAIMED = 'claimed.shard.'
const SYSTEM_ID = 'system_id'

async function lockSettings(session: Session): Promise<Map<string, Buffer>> {
  const [rows = []] = await session.run('SELECT name, value FROM setting FOR UPDATE')
  return new Map(rows.map(([name, value]) => [(name as Buffer).toString('utf8'), value as Buffer]))
}

function assertSameFoundation(stored: ReadonlyMap<string, Buffer>, wanted: Readonly<Record<string, string>>): void {
  const different = Object.entries(wanted).filter(([name, value]) => stored.get(name)?.toString('utf8') !== value)
  if (different.length === 0) return
  const list = different.map(([name, value]) => `${name} is ${stored.get(name)?.toString('utf8') ?? 'absent'}, not ${value}`).join('; ')
  throw new StoreMisconfigured(
    'FOUNDATION_DIFFERS',
    `the system was founded otherwise: ${list}. These never change; use the stored values or another control database`,
  )
}

/** @throws StoreMisconfigured `NOT_FOUNDED` */
export async function loadFoundation(control: ShardDatabase): Promise<SystemFoundation> {
  const [rows = []] = await control.withSession((session) => session.run('SELECT name, value FROM setting'))
  const stored = new Map(rows.map(([name, value]) => [(name as Buffer).toString('utf8'), (value as Buffer).toString('utf8')]))
  const topic = stored.get('topic')
  if (topic === undefined) throw new StoreMisconfigured('NOT_FOUNDED', 'the control database holds no system; run: ledgerctl migrate')
  return { topic, bucketCount: Number(stored.get('bucket_count')), shardCount: Number(stored.get('shard_count')) }
}

/** The plan of the control schema. The fence of each shard's own database decides (RTE-2). */
export async function loadShardMap(control: ShardDatabase): Promise<ShardMap> {
  const { bucketCount } = await loadFoundation(control)
  const [rows = []] = await control.withSession((session) =>
    session.run('SELECT bucket, shard_no, epoch, state FROM bucket_map ORDER BY bucket'),
  )
  const buckets = rows.map(([bucket, shard, epoch, state]) => ({
    bucket: Number(bucket),
    shard: Number(shard),
    epoch: String(epoch),
    state,
  }))
  return parseShardMap({ bucketCount, buckets })
}

/**
 * Gives a new shard its identity and the fence rows of its buckets, once in its life. A shard whose rows are gone after that was emptied or
 * replaced, and must not start to judge as if no operation had ever been seen.
 * @throws StoreMisconfigured `SHARD_EMPTIED`, or `OTHER_SYSTEM` where the database was born in another system or as another shard.
 */
export async function claimBuckets(control: ShardDatabase, database: ShardDatabase, shard: number): Promise<void> {
  const map = await loadShardMap(control)
  await inTransaction(control, async (session) => {
    const settings = await lockSettings(session)
    const systemId = systemIdOf(settings)
    // Counted behind the lock, in every state: another process may just have claimed, and a frozen bucket is no lost one.
    const owned = await countBuckets(database)
    const claimed = settings.has(CLAIMED + shard)
    if (owned > 0) await assertIdentity(database, systemId, shard)
    if (claimed && owned > 0) return
    if (claimed)
      throw new StoreMisconfigured(
        'SHARD_EMPTIED',
        `shard ${shard} owned buckets before and its database is empty now: restore it from its backup, do not start it`,
      )
    if (owned === 0) await writeBirth(database, systemId, shard, bucketsOfShard(map, shard))
    await session.run(`INSERT INTO setting (name, value)
      VALUES (${textLiteral(CLAIMED + shard)}, ${textLiteral('1')})`)
  })
}

/** Identity and fence rows in one transaction: a database that has the one has the other. */
async function writeBirth(database: ShardDatabase, systemId: Buffer, shard: number, buckets: readonly number[]): Promise<void> {
  const rows = buckets.map((bucket) => `(${bucket}, 1, 'ACTIVE')`)
  await inTransaction(database, async (session) => {
    await session.run(`INSERT INTO shard_identity (system_id, shard_no)
      VALUES (${bytesLiteral(systemId)}, ${shard})`)
    if (rows.length === 0) return
    await session.run(`INSERT INTO owned_bucket (bucket, epoch, state)
      VALUES ${rows.join(',')}`)
  })
}

/**
 * Refuses a database of another system or shard: the control schema's numbers would stand for other names in it.
 * @throws StoreMisconfigured `OTHER_SYSTEM`
 */
export async function assertShardIdentity(control: ShardDatabase, database: ShardDatabase, shard: number): Promise<void> {
  const [rows = []] = await control.withSession((session) =>
    session.run(`SELECT value
      FROM setting
      WHERE name = ${textLiteral(SYSTEM_ID)}`),
  )
  await assertIdentity(database, systemIdOf(new Map([[SYSTEM_ID, rows[0]?.[0] as Buffer | undefined]])), shard)
}

function systemIdOf(settings: ReadonlyMap<string, Buffer | undefined>): Buffer {
  const systemId = settings.get(SYSTEM_ID)
  if (systemId === undefined) throw new StoreMisconfigured('NOT_FOUNDED', 'the control database holds no system; run: ledgerctl migrate')
  return systemId
}

async function assertIdentity(database: ShardDatabase, systemId: Buffer, shard: number): Promise<void> {
  const [rows = []] = await database.withSession((session) => session.run('SELECT system_id, shard_no FROM shard_identity'))
  const row = rows[0]
  if (row !== undefined && (row[0] as Buffer).equals(systemId) && Number(row[1]) === shard) return
  const other = row === undefined ? 'has no identity' : `is shard ${Number(row[1])} of the system ${(row[0] as Buffer).toString('hex')}`
  throw new StoreMisconfigured(
    'OTHER_SYSTEM',
    `this database ${other}, not shard ${shard} of ${systemId.toString('hex')}: check the MySQL URLs and their order, and that the control database was not replaced`,
  )
}

async function countBuckets(database: ShardDatabase): Promise<number> {
  const [rows] = await database.withSession((session) => session.run('SELECT COUNT(*) FROM owned_bucket'))
  return Number(rows?.[0]?.[0])
}

/** Buckets that the shard's own database says are its to judge, ascending. */
export async function loadOwnedBuckets(database: ShardDatabase): Promise<number[]> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT bucket
      FROM owned_bucket
      WHERE state = 'ACTIVE'
      ORDER BY bucket`),
  )
  return rows.map((row) => Number(row[0]))
}

async function inTransaction(database: ShardDatabase, work: (session: Session) => Promise<void>): Promise<void> {
  await database.withSession(async (session) => {
    await session.run('START TRANSACTION')
    await work(session)
    await session.run('COMMIT')
  })
}
