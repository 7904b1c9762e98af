import { adjudicate, type ContractRegistry, CorruptData, type Judgement, type ParkedWrite } from '@onceledger/core'
import { type Batch, type BatchOutcome, type BatchSource, commandsOf } from './batch.ts'
import type { Names } from './names.ts'
import { beginAndRead, type LockedState, type ReadMode } from './read-state.ts'
import type { Session, ShardDatabase } from './session.ts'
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

export interface BatchContext {
  readonly database: ShardDatabase
  readonly names: Names
  readonly registry: ContractRegistry
  /** Microseconds since 1970, UTC. */
  readonly nowUs: () => bigint
  readonly failpoints: StoreFailpoints
}

/**
 * One attempt at one batch in one transaction (ADJ-1): lock and read, judge by the pure function, write and commit. Two round trips.
 * Either everything of the batch stands after it, offset included, or nothing does.
 * @throws the driver's error where the server or the connection failed; the transaction is then rolled back or in doubt.
 */
export async function runBatchTransaction(context: BatchContext, batch: Batch, mode: ReadMode): Promise<BatchOutcome> {
  await context.names.resolveTenants(commandsOf(batch.items).map((command) => command.tenantId))
  return context.database.withSession(async (session) => {
    const state = await beginAndRead(session, batch, context.names, mode)
    const refusal = refuseUnlessOurs(batch, state)
    if (refusal !== null) {
      await session.run('ROLLBACK')
      return refusal
    }
    return judgeAndCommit(context, session, batch, state)
  })
}

/** The fences: every bucket is ours and active (RTE-2), and the log position is the one the database expects (ADJ-8). */
function refuseUnlessOurs(batch: Batch, state: LockedState): BatchOutcome | null {
  for (const bucket of batch.buckets) {
    const owned = state.buckets.find((row) => row.bucket === bucket)
    if (owned?.state !== 'ACTIVE') return { kind: 'not-owner', bucket, state: owned?.state ?? 'ABSENT' }
  }
  if (state.offset === null || continues(batch.source, state.offset.nextOffset)) return null
  return { kind: 'position', ...state.offset }
}

function continues(source: BatchSource, storedNext: bigint): boolean {
  return source.redelivery === true ? source.expectedOffset <= storedNext : source.expectedOffset === storedNext
}

async function judgeAndCommit(context: BatchContext, session: Session, batch: Batch, state: LockedState): Promise<BatchOutcome> {
  const { judgements, rows, offset } = judge(context, batch, state)
  await commit(context.failpoints, session, rows, offset)
  await context.failpoints.hit('store.after-commit')
  return { kind: 'committed', judgements, nextOffset: batch.source.nextOffset }
}

interface JudgedBatch extends BatchStatements {
  readonly judgements: readonly Judgement[]
}

/** Pure but for the clock. @throws JudgementFailed */
function judge(context: BatchContext, batch: Batch, state: LockedState): JudgedBatch {
  const nowUs = context.nowUs()
  try {
    const judged = adjudicate(state.ledger, commandsOf(batch.items), { nowUs, registry: context.registry })
    const refused = batch.items.flatMap((item) => (item.kind === 'refused' ? [item.parked] : []))
    const judgements = inOrderOfItems(batch, judged.judgements)
    const writes = { ...judged.writes, parked: [...judged.writes.parked, ...refused] }
    const { names } = context
    return { judgements, ...batchStatements({ writes, source: batch.source, stored: state.offset, judgements, names, nowUs }) }
  } catch (error) {
    throw new JudgementFailed(error)
  }
}

/** All writes and the COMMIT travel in one packet: the server stops at the first statement that fails and never reaches the COMMIT. */
async function commit(failpoints: StoreFailpoints, session: Session, rows: readonly string[], offset: readonly string[]): Promise<void> {
  if (failpoints.armed('store.inside-batch') && rows.length > 0) {
    await session.run(rows.join(';'))
    await failpoints.hit('store.inside-batch')
    await session.run([...offset, 'COMMIT'].join(';'))
    return
  }
  await failpoints.hit('store.before-commit')
  await session.run([...rows, ...offset, 'COMMIT'].join(';'))
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
