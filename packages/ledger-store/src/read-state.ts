import {
  type AccountOwner,
  accountKey,
  type Command,
  externalOwnerOf,
  type LedgerState,
  operationKey,
  operationKeyOf,
} from '@onceledger/core'
import type { Batch } from './batch.ts'
import { commandsOf } from './batch.ts'
import type { Names } from './names.ts'
import type { Row, Session } from './session.ts'
import { lockAccounts, parseAccounts } from './sql/account.ts'
import { type AppliedOffset, lockBuckets, lockOffset, type OwnedBucket, parseBuckets, parseOffset } from './sql/fence.ts'
import { parseEvents, selectEvents } from './sql/inbox.ts'
import {
  identityOf,
  type OperationIdentity,
  parseOperations,
  parseReversals,
  reversalTargets,
  selectOperations,
  selectReversals,
} from './sql/operation.ts'

/** `insert-first` leaves the identities unread, to be decided by the unique keys; `read-first` reads what is known of each. */
export type ReadMode = 'insert-first' | 'read-first'

export interface LockedState {
  readonly buckets: readonly OwnedBucket[]
  readonly offset: AppliedOffset | null
  readonly ledger: LedgerState
}

/**
 * Opens the transaction and sends, as one packet and in the fixed order of locks: buckets FOR SHARE, the partition's offset FOR UPDATE,
 * accounts FOR UPDATE in key order, then the reads.
 */
export async function beginAndRead(session: Session, batch: Batch, names: Names, mode: ReadMode): Promise<LockedState> {
  const commands = commandsOf(batch.items)
  const owners = accountsToLock(commands)
  const targets = reversalTargets(commands, names)
  const operations = mode === 'read-first' ? operationsToRead(commands, targets, names) : targets
  const events = mode === 'read-first' ? commands : []

  const statements = ['START TRANSACTION', lockBuckets(batch.buckets), lockOffset(batch.source.topic, batch.source.partition)]
  const place = (sql: string, wanted: boolean): number => (wanted ? statements.push(sql) - 1 : -1)
  const accountsAt = owners.length > 0 ? place(lockAccounts(owners), true) : -1
  const operationsAt = operations.length > 0 ? place(selectOperations(operations, names), true) : -1
  const reversalsAt = targets.length > 0 ? place(selectReversals(targets, names), true) : -1
  const eventsAt = events.length > 0 ? place(selectEvents(events, names), true) : -1

  const results = await session.run(statements.join(';'))
  const rowsAt = (index: number): readonly Row[] => (index < 0 ? [] : (results[index] ?? []))
  return {
    buckets: parseBuckets(rowsAt(1)),
    offset: parseOffset(rowsAt(2)),
    ledger: {
      ...parseAccounts(rowsAt(accountsAt), owners, names),
      operations: parseOperations(rowsAt(operationsAt), operations),
      reversals: parseReversals(rowsAt(reversalsAt), targets),
      events: parseEvents(rowsAt(eventsAt), events, names),
    },
  }
}

/**
 * What is known of every identity of the batch, read after its accounts were locked: for an `insert-first` batch whose judgements would
 * write no row that a unique key could refuse.
 */
export async function readIdentities(session: Session, batch: Batch, names: Names): Promise<Pick<LedgerState, 'operations' | 'events'>> {
  const commands = commandsOf(batch.items)
  const operations = operationsToRead(commands, reversalTargets(commands, names), names)
  const statements =
    operations.length > 0 ? [selectOperations(operations, names), selectEvents(commands, names)] : [selectEvents(commands, names)]
  const results = await session.run(statements.join(';'))
  return {
    operations: parseOperations(operations.length > 0 ? (results[0] ?? []) : [], operations),
    events: parseEvents(results.at(-1) ?? [], commands, names),
  }
}

/** Every account that the batch may touch, with its counter account, in key order. */
function accountsToLock(commands: readonly Command[]): AccountOwner[] {
  const owners = new Map<string, AccountOwner>()
  for (const { aggregateId, tenantId, businessKey, bucket, intent } of commands) {
    const { currency } = intent
    if (currency === undefined || owners.has(accountKey(aggregateId, currency))) continue
    owners.set(accountKey(aggregateId, currency), { aggregateId, tenantId, businessKey, currency, bucket })
    const external = externalOwnerOf(tenantId, bucket, currency)
    owners.set(accountKey(external.aggregateId, currency), external)
  }
  return [...owners.entries()].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, owner]) => owner)
}

function operationsToRead(commands: readonly Command[], targets: readonly OperationIdentity[], names: Names): OperationIdentity[] {
  const identities = new Map<string, OperationIdentity>()
  for (const target of targets) identities.set(operationKey(target.type, target.operationId, target.aggregateId), target)
  for (const command of commands) if (command.operationId !== null) identities.set(operationKeyOf(command), identityOf(command, names))
  return [...identities.values()]
}
