import {
  type AccountOwner,
  accountKey,
  type AggregateId,
  type Command,
  externalOwnerOf,
  type LedgerState,
  operationKey,
  operationKeyOf,
} from '@onceledger/core'
import { type Batch, commandsOf } from './batch.ts'
import type { BindingPlan } from './binding-desk.ts'
import type { Names } from './names.ts'
import { ifAny, Packet } from './packet.ts'
import type { Session } from './session.ts'
import { lockAccounts, parseAccounts } from './sql/account.ts'
import { parseBindings, selectBindings } from './sql/binding.ts'
import { type DeferredKey, type DueRange, parseKeys, parseWaiting, selectDue, selectWaiting } from './sql/deferred.ts'
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
import { lockHeads, parseHeads, parseSteps, selectSteps } from './sql/sequence.ts'

/** `insert-first` leaves the identities unread, to be decided by the unique keys; `read-first` reads what is known of each. */
export type ReadMode = 'insert-first' | 'read-first'

export interface LockedState {
  /** Every bucket whose rows the batch may touch: its own, and those of tenant-wide identities at home here. */
  readonly fencedBuckets: readonly number[]
  readonly buckets: readonly OwnedBucket[]
  readonly offset: AppliedOffset | null
  readonly ledger: LedgerState
  /** Commands that wait, of the batch's business keys, up to some versions past the batch's own. */
  readonly due: readonly DeferredKey[]
}

/** Commands that waited and are judged in one transaction; the rest is left to the next. */
export const DUE_ROWS_MAX = 1_000
/** One more is looked for than is taken, so that a longer run is noticed. */
export const DUE_REACH = DUE_ROWS_MAX + 1

/**
 * A command whose verdict may be one that no unique key guards, since it is behind or ahead, is never judged unread. A tenant-wide identity is guarded by
 * the key of its binding.
 */
export function mustReadFirst(commands: readonly Command[]): boolean {
  return commands.some(({ contract }) => contract.order !== 'none')
}

/**
 * Opens the transaction and sends, as one packet and in the fixed order of locks: buckets FOR SHARE, the partition's offset FOR UPDATE,
 * accounts and heads of sequences FOR UPDATE in key order, then the reads.
 */
export async function beginAndRead(
  session: Session,
  batch: Batch,
  names: Names,
  plan: BindingPlan | undefined,
  mode: ReadMode,
): Promise<LockedState> {
  const commands = commandsOf(batch.items)
  const owners = accountsToLock(commands)
  const ordered = commands.filter(({ contract }) => contract.order === 'sequence')
  const sequences = oneOfEachAggregate(ordered)

  const fencedBuckets = [...new Set([...batch.buckets, ...(plan?.localBuckets ?? [])])]

  const packet = new Packet()
  packet.add('START TRANSACTION')
  const buckets = packet.add(lockBuckets(fencedBuckets))
  const offset = packet.add(lockOffset(batch.source.topic, batch.source.partition))
  const accounts = packet.add(ifAny(owners, lockAccounts))
  const heads = packet.add(ifAny(sequences, lockHeads))
  const due = packet.add(ifAny(dueRanges(ordered), (ranges) => selectDue(ranges, DUE_REACH)))
  const known = addIdentities(packet, commands, names, plan, mode)
  await packet.send(session)

  return {
    fencedBuckets,
    buckets: parseBuckets(buckets()),
    offset: parseOffset(offset()),
    ledger: {
      ...parseAccounts(accounts(), owners, names),
      sequences: parseHeads(heads(), sequences, names),
      deferred: new Map(),
      ...known(),
    },
    due: parseKeys(due()),
  }
}

/** Everything that says whether a command was seen before. */
export type Identities = Pick<LedgerState, 'operations' | 'reversals' | 'events' | 'steps' | 'deferredKeys' | 'bindings'>

function addIdentities(
  packet: Packet,
  commands: readonly Command[],
  names: Names,
  plan: BindingPlan | undefined,
  mode: ReadMode,
): () => Identities {
  const targets = reversalTargets(commands, names)
  const toRead = mode === 'read-first' ? commands : []
  const identities = mode === 'read-first' ? operationsToRead(commands, targets, names) : targets
  const ordered = toRead.filter(({ contract }) => contract.order === 'sequence')
  const bound = plan === undefined ? [] : toRead.filter((command) => plan.localBucketOf(command) !== null)

  const operations = packet.add(ifAny(identities, (list) => selectOperations(list, names)))
  const reversals = packet.add(ifAny(targets, (list) => selectReversals(list, names)))
  const events = packet.add(ifAny(toRead, (list) => selectEvents(list, names)))
  const steps = packet.add(ifAny(ordered, selectSteps))
  const waiting = packet.add(ifAny(ordered, (list) => selectWaiting(list, names)))
  const claims = packet.add(ifAny(bound, (list) => selectBindings(list, names)))
  return () => ({
    operations: parseOperations(operations(), identities),
    reversals: parseReversals(reversals(), targets),
    events: parseEvents(events(), toRead, names),
    steps: parseSteps(steps(), ordered, names),
    deferredKeys: parseWaiting(waiting(), ordered),
    bindings: parseBindings(claims(), bound),
  })
}

/**
 * What is known of every identity of the batch, read after its accounts were locked: for an `insert-first` batch whose judgements would
 * write no row that a unique key could refuse.
 */
export async function readIdentities(
  session: Session,
  commands: readonly Command[],
  names: Names,
  plan: BindingPlan | undefined,
): Promise<Identities> {
  const packet = new Packet()
  const known = addIdentities(packet, commands, names, plan, 'read-first')
  await packet.send(session)
  return known()
}

/** The same, and the accounts, locked: for commands that came into the transaction after it began. */
export async function lockAndReadMore(
  session: Session,
  commands: readonly Command[],
  names: Names,
): Promise<Identities & Pick<LedgerState, 'accounts' | 'corruptAccounts'>> {
  const owners = accountsToLock(commands)
  const packet = new Packet()
  const accounts = packet.add(ifAny(owners, lockAccounts))
  const known = addIdentities(packet, commands, names, undefined, 'read-first')
  await packet.send(session)
  return { ...known(), ...parseAccounts(accounts(), owners, names) }
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

/** One command for each business key, in the order of the keys. */
export function oneOfEachAggregate(commands: readonly Command[]): Command[] {
  const first = new Map<AggregateId, Command>()
  for (const command of commands) if (!first.has(command.aggregateId)) first.set(command.aggregateId, command)
  return [...first.values()].sort((left, right) => (left.aggregateId < right.aggregateId ? -1 : 1))
}

/** A run of successors can reach this far past the batch's own versions. */
function dueRanges(ordered: readonly Command[]): DueRange[] {
  const highest = new Map<AggregateId, bigint>()
  for (const { aggregateId, aggregateVersion } of ordered) {
    const version = aggregateVersion ?? 0n
    if (version > (highest.get(aggregateId) ?? 0n)) highest.set(aggregateId, version)
  }
  return [...highest].map(([aggregateId, version]) => ({ aggregateId, upTo: version + BigInt(DUE_REACH) }))
}

function operationsToRead(commands: readonly Command[], targets: readonly OperationIdentity[], names: Names): OperationIdentity[] {
  const identities = new Map<string, OperationIdentity>()
  for (const target of targets) identities.set(operationKey(target.type, target.operationId, target.aggregateId), target)
  for (const command of commands) if (command.operationId !== null) identities.set(operationKeyOf(command), identityOf(command, names))
  return [...identities.values()]
}
