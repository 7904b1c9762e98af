import { adjudicate, type Answer, Bug, type Command, type Decision, EMPTY_STATE, type ParkedWrite } from '@onceledger/core'
import type { Published, PublishedResults } from './batch.ts'
import { type BatchResults, sweptResults } from './batch-results.ts'
import { type BatchContext, sendWrites } from './batch-transaction.ts'
import { addDue, chooseDue, decodeKept } from './due.ts'
import { Packet } from './packet.ts'
import { DUE_REACH, DUE_ROWS_MAX, oneOfEachAggregate } from './read-state.ts'
import type { Session } from './session.ts'
import {
  type DeferredKey,
  deleteKeys,
  type DueRange,
  parseKeys,
  parseLeftOver,
  parsePayloads,
  selectDue,
  selectLeftOver,
  selectOld,
  selectPayloads,
} from './sql/deferred.ts'
import { insertParked } from './sql/evidence.ts'
import {
  type AppliedOffset,
  guardRowCount,
  lockBuckets,
  lockOffset,
  parseBuckets,
  parseOffset,
  updateTally,
  type VerdictTally,
} from './sql/fence.ts'
import { insertOutbox, nextSeq } from './sql/outbox.ts'
import { lockHeads, parseHeads } from './sql/sequence.ts'
import { NO_TALLY, tallyOf } from './tally.ts'
import { publishedStatements, rowStatements } from './write-batch.ts'

export interface PartitionToSweep {
  readonly topic: string
  /** Partition and bucket. */
  readonly partition: number
  readonly published?: PublishedResults
}

export type SweepOutcome =
  /** `more`: a bound was met, sweep again. `parked`: commands that waited longer than their contract allows. */
  | { readonly kind: 'swept'; readonly results: readonly Published[]; readonly parked: number; readonly more: boolean }
  /** Nothing was done: the bucket is not this shard's to judge now, or nothing of the partition was ever applied. */
  | { readonly kind: 'not-ours' }

const LEFT_OVER_KEYS_MAX = 100
const OLD_ROWS_MAX = 500

/**
 * Judges what waits although its turn has come, and parks what has waited for too long (ORD-3): one bounded transaction under the same locks as a
 * batch, so it takes its place in the partition's order of commits. It also remembers which results were acknowledged.
 * @throws the driver's error where the server or the connection failed; nothing, or everything, of the sweep stands then.
 */
export async function sweepPartition(context: BatchContext, target: PartitionToSweep): Promise<SweepOutcome> {
  return context.database.withSession(async (session) => {
    const nowUs = context.nowUs()
    const packet = new Packet()
    packet.add('START TRANSACTION')
    const buckets = packet.add(lockBuckets([target.partition]))
    const locked = packet.add(lockOffset(target.topic, target.partition))
    const leftOver = packet.add(selectLeftOver(target.partition, LEFT_OVER_KEYS_MAX))
    const old = packet.add(selectOld(target.partition, nowUs - shortestWaitUs(context), OLD_ROWS_MAX))
    await packet.send(session)

    const offset = parseOffset(locked())
    if (offset === null || parseBuckets(buckets())[0]?.state !== 'ACTIVE') return rollBack(session)
    const ranges = parseLeftOver(leftOver(), DUE_REACH)
    const swept =
      ranges.length > 0
        ? await drain(context, session, ranges, offset, nowUs)
        : await escalate(context, session, target, parseKeys(old()), offset, nowUs)
    await write(context, session, target, swept)
    return { kind: 'swept', results: swept.results.results, parked: swept.parked, more: swept.more }
  })
}

async function rollBack(session: Session): Promise<SweepOutcome> {
  await session.run('ROLLBACK')
  return { kind: 'not-ours' }
}

interface Swept {
  readonly rows: readonly string[]
  readonly tally: VerdictTally
  readonly results: BatchResults
  readonly parked: number
  readonly more: boolean
}

/** A run of successors that an earlier transaction left over. */
async function drain(
  context: BatchContext,
  session: Session,
  ranges: readonly DueRange[],
  { nextOffset }: AppliedOffset,
  nowUs: bigint,
): Promise<Swept> {
  const [rows = []] = await session.run(selectDue(ranges, DUE_REACH))
  const heads = new Map(ranges.map(({ aggregateId, upTo }) => [aggregateId, upTo - BigInt(DUE_REACH)]))
  const due = chooseDue(parseKeys(rows), heads, [], DUE_ROWS_MAX)
  const ledger = await addDue(session, EMPTY_STATE, due.keys, context)
  const owners = oneOfEachAggregate([...ledger.deferred.values()].flat().map(({ command }) => command))
  if (owners.length === 0) return { ...NOTHING, more: due.more }
  const [headRows = []] = await session.run(lockHeads(owners))
  const sequences = parseHeads(headRows, owners, context.names)

  const { decisions, writes } = adjudicate({ ...ledger, sequences }, [], { nowUs, registry: context.registry })
  return {
    rows: rowStatements(writes, context.names, homeBucketOf, nowUs),
    tally: tallyOf([], decisions, writes),
    results: context.publishing ? sweptResults(decisions.map(toAnswer), nextOffset) : NO_RESULTS,
    parked: writes.parked.length,
    more: due.more || ranges.length === LEFT_OVER_KEYS_MAX,
  }
}

function toAnswer({ command, judgement }: Decision): Answer {
  return { record: command.record, command, judgement }
}

function homeBucketOf(command: Command): number {
  throw new Bug(`a ${command.contract.name} waited without having claimed its identity`)
}

/** The predecessor did not come: the commands are an operator's to see, with all their bytes, and wait no more. */
async function escalate(
  context: BatchContext,
  session: Session,
  target: PartitionToSweep,
  keys: readonly DeferredKey[],
  { nextOffset }: AppliedOffset,
  nowUs: bigint,
): Promise<Swept> {
  if (keys.length === 0) return NOTHING
  const [rows = []] = await session.run(selectPayloads(keys))
  const overdue: { key: DeferredKey; parked: ParkedWrite; answer: Answer }[] = []
  for (const { keyNo, record, deferredAtUs } of parsePayloads(rows)) {
    const key = keys[keyNo]
    const decoded = decodeKept(record, context)
    const command = decoded.kind === 'command' ? decoded.command : null
    const waitedUs = nowUs - deferredAtUs
    if (key === undefined || waitedUs < BigInt(command?.contract.sequence?.deferredAgeMaxMs ?? 0) * 1000n) continue
    const detail = `version ${key.version} waited ${waitedUs / 1_000_000n} s for its predecessor`
    overdue.push({
      key,
      parked: { record, tenantId: command?.tenantId ?? null, reason: GAP_NOT_CLOSED, detail, retryable: true },
      answer: { record, command, judgement: { verdict: 'PARKED', reason: GAP_NOT_CLOSED, first: null } },
    })
  }
  if (overdue.length === 0 || context.mayPark?.(target.partition, overdue.length) === false) return NOTHING
  return {
    rows: [
      deleteKeys(overdue.map(({ key }) => key)),
      guardRowCount(overdue.length),
      insertParked(
        overdue.map(({ parked }) => parked),
        nowUs,
      ),
    ],
    tally: { ...NO_TALLY, deferred: -overdue.length, parked: overdue.length },
    results: context.publishing
      ? sweptResults(
          overdue.map(({ answer }) => answer),
          nextOffset,
        )
      : NO_RESULTS,
    parked: overdue.length,
    more: keys.length === OLD_ROWS_MAX,
  }
}

const GAP_NOT_CLOSED = 'GAP_NOT_CLOSED'

async function write(context: BatchContext, session: Session, target: PartitionToSweep, swept: Swept): Promise<void> {
  const { topic, partition, published } = target
  const rows = [...swept.rows]
  if (swept.rows.length > 0) rows.push(updateTally(topic, partition, swept.tally))
  const { outbox } = swept.results
  if (outbox.length > 0) {
    const [[next] = []] = await session.run(nextSeq(target, outbox[0]?.causeOffset ?? 0n))
    rows.push(insertOutbox(target, outbox, Number(next?.[0])))
  }
  if (published !== undefined) rows.push(...publishedStatements(target, published))
  if (rows.length === 0) {
    await session.run('ROLLBACK')
    return
  }
  await sendWrites(context.failpoints, session, rows, [])
  await context.failpoints.hit('store.after-commit')
}

/** The shortest time that any contract lets a command wait. */
function shortestWaitUs({ registry }: BatchContext): bigint {
  const waits = registry.all().flatMap(({ sequence }) => (sequence === undefined ? [] : [sequence.deferredAgeMaxMs]))
  return BigInt(Math.min(...waits, Number.MAX_SAFE_INTEGER / 1000)) * 1000n
}

const NO_RESULTS: BatchResults = { results: [], outbox: [] }
const NOTHING: Swept = { rows: [], tally: NO_TALLY, results: NO_RESULTS, parked: 0, more: false }
