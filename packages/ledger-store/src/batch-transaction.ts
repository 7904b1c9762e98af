import {
  adjudicate,
  Bug,
  type Command,
  type ContractRegistry,
  CorruptData,
  type Judgement,
  type ParkedWrite,
  type StoredBinding,
} from '@onceledger/core'
import { type Batch, type BatchOutcome, type BatchSource, commandsOf, type Published, recordOf } from './batch.ts'
import { type BatchResults, resultsOf } from './batch-results.ts'
import type { BindingDesk, BindingPlan } from './binding-desk.ts'
import { addDue, chooseDue } from './due.ts'
import { StoreMisconfigured } from './errors.ts'
import type { Names } from './names.ts'
import { beginAndRead, DUE_ROWS_MAX, type LockedState, type ReadMode, readIdentities } from './read-state.ts'
import { PACKET_BYTES_MAX, type Session, type ShardDatabase } from './session.ts'
import { tallyOf } from './tally.ts'
import { type BatchStatements, batchStatements } from './write-batch.ts'

/** Points at which a test may end the process; a running service passes `NO_FAILPOINTS`. */
export const STORE_FAILPOINTS = ['store.inside-batch', 'store.before-commit', 'store.after-commit'] as const
export type StoreFailpoint = (typeof STORE_FAILPOINTS)[number]

export interface StoreFailpoints {
  armed(name: StoreFailpoint): boolean
  hit(name: StoreFailpoint): void | Promise<void>
}

export const NO_FAILPOINTS: StoreFailpoints = { armed: () => false, hit: () => undefined }

/** The batch could not be judged: one of its messages meets a corrupt row or a bug. Nothing was written. */
export class JudgementFailed extends Error {
  override readonly name = 'JudgementFailed'
  readonly code: string
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.code = cause instanceof CorruptData ? cause.code : 'JUDGEMENT_FAILED'
  }
}

/** The writes of the batch do not fit one packet. Nothing was sent; its halves may fit. */
export class PacketTooLarge extends Error {
  override readonly name = 'PacketTooLarge'
  readonly code = 'PACKET_TOO_LARGE'
}

export interface BatchContext {
  readonly database: ShardDatabase
  readonly names: Names
  readonly registry: ContractRegistry
  /** Buckets of the system, as it was founded with. */
  readonly bucketCount: number
  /** Whether results are published: then those that do not stand at their message's place get a row in the outbox. */
  readonly publishing: boolean
  /** Without it no command of a tenant-wide contract can be judged. */
  readonly bindings?: BindingDesk
  /** Whether so many messages of a partition may be parked now; a batch that would park more is not committed. */
  readonly mayPark?: (partition: number, messages: number) => boolean
  /** Microseconds since 1970, UTC. */
  readonly nowUs: () => bigint
  readonly failpoints: StoreFailpoints
}

/**
 * One attempt at one batch in one transaction (ADJ-1): lock and read, judge by the pure function, write and commit. Two round trips, and two
 * more where commands that wait may get their turn. Either everything of the batch stands after it, offset included, or nothing does.
 * @throws the driver's error where the server or the connection failed; the transaction is then rolled back or in doubt.
 */
export async function runBatchTransaction(context: BatchContext, batch: Batch, mode: ReadMode): Promise<BatchOutcome> {
  assertFenced(batch)
  const commands = commandsOf(batch.items)
  await context.names.resolveTenants(commands.map((command) => command.tenantId))
  // A claim has no effect, so it may stand before the transaction; what it says does not change any more (RTE-2).
  const plan = context.bindings?.plan(commands)
  const claimed = (await plan?.claimRemote()) ?? new Map<string, StoredBinding>()
  return context.database.withSession(async (session) => {
    const state = await beginAndRead(session, batch, context.names, plan, mode)
    const refusal = refuseUnlessOurs(batch, state)
    if (refusal !== null) {
      const outcome = await rollBack(session, refusal)
      if (refusal.kind === 'not-owner' && !batch.buckets.includes(refusal.bucket)) await context.bindings?.refresh()
      return outcome
    }

    const due = chooseDue(state.due, state.ledger.sequences, commands, DUE_ROWS_MAX)
    const bindings = new Map([...state.ledger.bindings, ...claimed])
    const ledger = await addDue(session, { ...state.ledger, bindings }, due.keys, context)
    const judged = await judgeLocked({ ...context, plan }, session, batch, { ...state, ledger }, mode)
    if (judged.parked > 0 && context.mayPark?.(batch.source.partition, judged.parked) === false)
      return rollBack(session, { kind: 'parking-storm', parked: judged.parked })
    await sendWrites(context.failpoints, session, judged.rows, judged.offset)
    await context.failpoints.hit('store.after-commit')
    const { judgements, results } = judged
    return { kind: 'committed', judgements, results, nextOffset: batch.source.nextOffset, more: due.more }
  })
}

async function rollBack(session: Session, outcome: BatchOutcome): Promise<BatchOutcome> {
  await session.run('ROLLBACK')
  return outcome
}

/** A row of a bucket that the batch does not name would be written past the fence of RTE-2. */
function assertFenced(batch: Batch): void {
  for (const { bucket } of commandsOf(batch.items))
    if (!batch.buckets.includes(bucket))
      throw new Bug(`a command of bucket ${bucket} in a batch that names the buckets ${batch.buckets.join()}`)
}

/** The fences: every bucket is ours and active (RTE-2), and the log position is the one the database expects (ADJ-8). */
function refuseUnlessOurs(batch: Batch, state: LockedState): BatchOutcome | null {
  for (const bucket of state.fencedBuckets) {
    const owned = state.buckets.find((row) => row.bucket === bucket)
    if (owned?.state !== 'ACTIVE') return { kind: 'not-owner', bucket, state: owned?.state ?? 'ABSENT' }
  }
  if (state.offset === null) return startsTheLog(batch.source) ? null : { kind: 'no-position' }
  if (continues(batch.source, state.offset.nextOffset)) return null
  const { nextOffset, lastDigest } = state.offset
  return { kind: 'position', nextOffset, lastDigest }
}

/** Offset 0 is the beginning of any log; a log that has lost its oldest records begins later, and its reader says so. */
function startsTheLog({ fresh, expectedOffset }: BatchSource): boolean {
  return fresh === true || expectedOffset === 0n
}

function continues(source: BatchSource, storedNext: bigint): boolean {
  return source.redelivery === true ? source.expectedOffset <= storedNext : source.expectedOffset === storedNext
}

interface PlannedContext extends BatchContext {
  readonly plan: BindingPlan | undefined
}

interface JudgedBatch extends BatchStatements {
  readonly judgements: readonly Judgement[]
  readonly results: readonly Published[]
  /** Commands that are to be parked: no identity row is written for them. */
  readonly unguarded: number
  /** Messages that the batch parks, those included that never became a command. */
  readonly parked: number
}

/**
 * A parked command writes no identity, so no unique key would notice that it was judged before. Where identities were left unread, they
 * are read before such a verdict is believed (ADJ-2): a known operation is a duplicate or a conflict, whatever the accounts say now.
 */
async function judgeLocked(
  context: PlannedContext,
  session: Session,
  batch: Batch,
  state: LockedState,
  mode: ReadMode,
): Promise<JudgedBatch> {
  const judged = judge(context, batch, state)
  if (mode === 'read-first' || judged.unguarded === 0) return judged
  const known = await readIdentities(session, commandsOf(batch.items), context.names, context.plan)
  const bindings = new Map([...known.bindings, ...state.ledger.bindings])
  return judge(context, batch, { ...state, ledger: { ...state.ledger, ...known, bindings } })
}

/** Pure but for the clock. @throws JudgementFailed */
function judge(context: PlannedContext, batch: Batch, state: LockedState): JudgedBatch {
  const nowUs = context.nowUs()
  try {
    const judged = adjudicate(state.ledger, commandsOf(batch.items), { nowUs, registry: context.registry })
    const refused = batch.items.flatMap((item) => (item.kind === 'refused' ? [item.parked] : []))
    const judgements = inOrderOfItems(batch, judged.judgements)
    const writes = { ...judged.writes, parked: [...judged.writes.parked, ...refused] }
    const { results, outbox } = publishable(context, batch, judgements, judged.decisions, state)
    const statements = batchStatements({
      writes,
      source: batch.source,
      stored: state.offset,
      tally: tallyOf(notCountedYet(batch, judgements, state), judged.decisions, judged.writes),
      outbox,
      publishing: context.publishing,
      names: context.names,
      homeBucketOf: (command) => localHomeOf(context, command),
      nowUs,
    })
    return { judgements, results, unguarded: judged.writes.parked.length, parked: writes.parked.length, ...statements }
  } catch (error) {
    if (error instanceof StoreMisconfigured) throw error
    throw new JudgementFailed(error)
  }
}

function publishable(
  context: BatchContext,
  batch: Batch,
  judgements: readonly Judgement[],
  decisions: Parameters<typeof resultsOf>[2],
  { offset }: LockedState,
): BatchResults {
  if (!context.publishing) return { results: [], outbox: [] }
  return resultsOf(batch.items, judgements, decisions, offset?.nextOffset ?? 0n)
}

/** Identities at home in another shard were claimed there, so none of them is claimed here. */
function localHomeOf({ plan }: PlannedContext, command: Command): number {
  const bucket = plan?.localBucketOf(command) ?? null
  if (bucket === null) throw new Bug(`the identity of a ${command.contract.name} was not claimed before it was judged`)
  return bucket
}

/** Messages of a redelivery that lie behind the applied offset are in its tallies already. */
function notCountedYet(batch: Batch, judgements: readonly Judgement[], { offset }: LockedState): readonly Judgement[] {
  if (offset === null || batch.source.expectedOffset === offset.nextOffset) return judgements
  return judgements.filter((_judgement, i) => {
    const item = batch.items[i]
    return item !== undefined && recordOf(item).position.offset >= offset.nextOffset
  })
}

/** All writes and the COMMIT travel in one packet: the server stops at the first statement that fails and never reaches the COMMIT. */
export async function sendWrites(
  failpoints: StoreFailpoints,
  session: Session,
  rows: readonly string[],
  offset: readonly string[],
): Promise<void> {
  if (failpoints.armed('store.inside-batch') && rows.length > 0) {
    await session.run(rows.join(';'))
    await failpoints.hit('store.inside-batch')
    await session.run([...offset, 'COMMIT'].join(';'))
    return
  }
  await failpoints.hit('store.before-commit')
  const packet = [...rows, ...offset, 'COMMIT'].join(';')
  // All literals are digits and hex digits, so characters are bytes.
  if (packet.length > PACKET_BYTES_MAX)
    throw new PacketTooLarge(`a batch of ${packet.length} bytes, at most ${PACKET_BYTES_MAX} are sent at once`)
  await session.run(packet)
}

function inOrderOfItems(batch: Batch, ofCommands: readonly Judgement[]): Judgement[] {
  let next = 0
  return batch.items.map((item) => {
    if (item.kind === 'refused') return parkedJudgement(item.parked)
    const judgement = ofCommands[next++]
    if (judgement === undefined) throw new RangeError('fewer judgements than commands')
    return judgement
  })
}

function parkedJudgement(parked: ParkedWrite): Judgement {
  return { verdict: 'PARKED', reason: parked.reason, first: null }
}
