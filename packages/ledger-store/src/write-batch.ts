import type { AccountWrite, BatchWrites, Command, Judgement, Verdict } from '@onceledger/core'
import type { BatchSource } from './batch.ts'
import type { Names } from './names.ts'
import type { AppliedOffset } from './sql/fence.ts'
import { guardRowCount, insertOffset, type OffsetAdvance, updateOffset, type VerdictTally } from './sql/fence.ts'
import { insertAccounts, updateAccounts } from './sql/account.ts'
import { insertAudits, insertParked } from './sql/evidence.ts'
import { insertEvents, insertPostings } from './sql/inbox.ts'
import { insertOperations, insertReversals } from './sql/operation.ts'

export interface BatchToWrite {
  readonly writes: BatchWrites
  readonly source: BatchSource
  /** The applied offset as locked by this transaction. */
  readonly stored: AppliedOffset | null
  /** One for each message that the offset passes for the first time, for the exact tally beside it. */
  readonly judgements: readonly Judgement[]
  readonly names: Names
  readonly nowUs: bigint
}

export interface BatchStatements {
  readonly rows: readonly string[]
  readonly offset: readonly string[]
}

/** Everything that a judged batch writes, between START TRANSACTION and COMMIT. */
export function batchStatements(batch: BatchToWrite): BatchStatements {
  const { writes, source, stored, judgements, names, nowUs } = batch
  return { rows: rowStatements(writes, names, nowUs), offset: offsetStatements(source, stored, judgements, nowUs) }
}

/**
 * The statements that write a batch's rows, in a fixed order of tables and with rows sorted by key, so that two transactions never
 * wait for each other in a circle. They are plain inserts: whatever stands already makes them fail, and with them the packet.
 */
function rowStatements(writes: BatchWrites, names: Names, nowUs: bigint): string[] {
  const statements: string[] = []
  const accounts = writes.accounts.toSorted(byAccount)
  const created = accounts.filter((row) => row.created)
  const changed = accounts.filter((row) => !row.created)
  if (created.length > 0) statements.push(insertAccounts(created, names))
  if (changed.length > 0) statements.push(updateAccounts(changed), guardRowCount(changed.length))
  if (writes.operations.length > 0) statements.push(insertOperations(writes.operations.toSorted(byOperation), names))
  if (writes.reversals.length > 0) statements.push(insertReversals(writes.reversals.toSorted(byOperation), names))
  if (writes.postings.length > 0) statements.push(insertPostings(writes.postings, names))
  if (writes.events.length > 0) statements.push(insertEvents(writes.events.toSorted(byEvent), names, nowUs))
  if (writes.audits.length > 0) statements.push(insertAudits(writes.audits, names, nowUs))
  if (writes.parked.length > 0) statements.push(insertParked(writes.parked, nowUs))
  return statements
}

/** Moves the partition's offset in the same transaction (ADJ-8); a redelivery never moves it back. */
function offsetStatements(source: BatchSource, stored: AppliedOffset | null, judgements: readonly Judgement[], nowUs: bigint): string[] {
  if (stored !== null && source.nextOffset <= stored.nextOffset) return []
  const { topic, partition, nextOffset, lastDigestHex } = source
  const advance: OffsetAdvance = { topic, partition, nextOffset, lastDigestHex, tally: tallyOf(judgements), nowUs }
  return stored === null ? [insertOffset(advance)] : [updateOffset(advance), guardRowCount(1)]
}

function tallyOf(judgements: readonly Judgement[]): VerdictTally {
  const counts: Record<Verdict, number> = { APPLIED: 0, DUPLICATE: 0, CONFLICT: 0, REJECTED: 0, PARKED: 0 }
  for (const { verdict } of judgements) counts[verdict]++
  const { APPLIED: applied, DUPLICATE: duplicate, CONFLICT: conflict, REJECTED: rejected, PARKED: parked } = counts
  return { applied, duplicate, conflict, rejected, parked }
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
