import type { AccountWrite, BatchWrites, Command, SequenceWrite } from '@onceledger/core'
import type { BatchSource, PublishedResults } from './batch.ts'
import type { Names } from './names.ts'
import { insertAccounts, updateAccounts } from './sql/account.ts'
import { insertBindings } from './sql/binding.ts'
import { deleteDeferred, insertDeferred } from './sql/deferred.ts'
import { insertAudits, insertParked } from './sql/evidence.ts'
import {
  type AppliedOffset,
  guardRowCount,
  insertOffset,
  type OffsetAdvance,
  updateOffset,
  updatePublished,
  updateTally,
  type VerdictTally,
} from './sql/fence.ts'
import { insertEvents, insertPostings } from './sql/inbox.ts'
import { insertOperations, insertReversals } from './sql/operation.ts'
import { deleteOutbox, insertOutbox, type OutboxRow } from './sql/outbox.ts'
import { insertHeads, insertSteps, updateHeads } from './sql/sequence.ts'

export interface BatchToWrite {
  readonly writes: BatchWrites
  readonly source: BatchSource
  /** The applied offset as locked by this transaction. */
  readonly stored: AppliedOffset | null
  /** Verdicts of messages that the offset passes for the first time, and of those that waited until now. */
  readonly tally: VerdictTally
  /** Results that do not stand at their own message's place. */
  readonly outbox: readonly OutboxRow[]
  /** False where no results are published: nothing is then to be derived again after a crash. */
  readonly publishing: boolean
  readonly names: Names
  /** Of a tenant-wide identity. Not called where there is none. */
  readonly homeBucketOf: (command: Command) => number
  readonly nowUs: bigint
}

export interface BatchStatements {
  readonly rows: readonly string[]
  readonly offset: readonly string[]
}

/** Everything that a judged batch writes, between START TRANSACTION and COMMIT. */
export function batchStatements(batch: BatchToWrite): BatchStatements {
  const { writes, source, outbox, names, homeBucketOf, nowUs } = batch
  const rows = rowStatements(writes, names, homeBucketOf, nowUs)
  if (outbox.length > 0) rows.push(insertOutbox(source, outbox))
  return { rows, offset: offsetStatements(batch) }
}

/**
 * The statements that write a batch's rows, in a fixed order of tables and with rows sorted by key, so that two transactions never
 * wait for each other in a circle. They are plain inserts: whatever stands already makes them fail, and with them the packet.
 */
export function rowStatements(writes: BatchWrites, names: Names, homeBucketOf: BatchToWrite['homeBucketOf'], nowUs: bigint): string[] {
  const statements = [...accountStatements(writes.accounts, names), ...headStatements(writes.sequences, names)]
  if (writes.bindings.length > 0) {
    const bindings = writes.bindings.toSorted(byOperation).map(({ command }) => ({ command, bucket: homeBucketOf(command) }))
    statements.push(insertBindings(bindings, names, nowUs))
  }
  if (writes.operations.length > 0) statements.push(insertOperations(writes.operations.toSorted(byOperation), names))
  if (writes.steps.length > 0) statements.push(insertSteps(writes.steps, names))
  if (writes.reversals.length > 0) statements.push(insertReversals(writes.reversals.toSorted(byOperation), names))
  if (writes.postings.length > 0) statements.push(insertPostings(writes.postings, names))
  if (writes.events.length > 0) statements.push(insertEvents(writes.events.toSorted(byEvent), names, nowUs))
  if (writes.deferrals.length > 0) statements.push(insertDeferred(writes.deferrals, names, nowUs))
  if (writes.drained.length > 0) statements.push(deleteDeferred(writes.drained, names), guardRowCount(writes.drained.length))
  if (writes.audits.length > 0) statements.push(insertAudits(writes.audits, names, nowUs))
  if (writes.parked.length > 0) statements.push(insertParked(writes.parked, nowUs))
  return statements
}

/** What is remembered of acknowledged results where no batch takes it along. */
export function publishedStatements(source: Pick<BatchSource, 'topic' | 'partition'>, published: PublishedResults): string[] {
  const { topic, partition } = source
  const acknowledged = published.outbox.length === 0 ? [] : [deleteOutbox(source, published.outbox)]
  return [...acknowledged, updatePublished(topic, partition, published.nextOffset)]
}

function accountStatements(rows: readonly AccountWrite[], names: Names): string[] {
  const statements: string[] = []
  const accounts = rows.toSorted(byAccount)
  const created = accounts.filter((row) => row.created)
  const changed = accounts.filter((row) => !row.created)
  if (created.length > 0) statements.push(insertAccounts(created, names))
  if (changed.length > 0) statements.push(updateAccounts(changed), guardRowCount(changed.length))
  return statements
}

function headStatements(rows: readonly SequenceWrite[], names: Names): string[] {
  const statements: string[] = []
  const heads = rows.toSorted((left, right) => compare(left.aggregateId, right.aggregateId))
  const created = heads.filter((row) => row.created)
  const changed = heads.filter((row) => !row.created)
  if (created.length > 0) statements.push(insertHeads(created, names))
  if (changed.length > 0) statements.push(updateHeads(changed), guardRowCount(changed.length))
  return statements
}

/** Moves the partition's offset in the same transaction (ADJ-8); a redelivery never moves it back. */
function offsetStatements({ source, stored, tally, publishing, nowUs }: BatchToWrite): string[] {
  const { topic, partition, nextOffset, lastDigestHex, published } = source
  const acknowledged = published === undefined || published.outbox.length === 0 ? [] : [deleteOutbox(source, published.outbox)]
  if (stored !== null && nextOffset <= stored.nextOffset) return [...acknowledged, updateTally(topic, partition, tally)]
  const publishedOffset = publishing ? (published?.nextOffset ?? null) : nextOffset
  const advance: OffsetAdvance = { topic, partition, nextOffset, lastDigestHex, tally, publishedOffset, nowUs }
  return [...acknowledged, ...(stored === null ? [insertOffset(advance)] : [updateOffset(advance), guardRowCount(1)])]
}

interface OfCommand {
  readonly command: Command
}

/** By stored id alone: enough for one order among all transactions, since a batch's types and tenants are few. */
function byOperation(left: OfCommand, right: OfCommand): number {
  return compare(left.command.operationIdHex ?? '', right.command.operationIdHex ?? '')
}

function byEvent(left: OfCommand, right: OfCommand): number {
  return compare(left.command.eventIdHex, right.command.eventIdHex)
}

function byAccount(left: AccountWrite, right: AccountWrite): number {
  return compare(left.aggregateId, right.aggregateId) || compare(left.currency, right.currency)
}

function compare(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}
