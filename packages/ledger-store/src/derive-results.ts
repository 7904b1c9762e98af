import {
  type Command,
  type ContractRegistry,
  deferredKeyOf,
  digestUnderVersion,
  encodeResult,
  eventKeyOf,
  type EventReason,
  type Judgement,
  operationKeyOf,
  recordDigest,
  type SourcePosition,
  type StoredEvent,
  type StoredOperation,
} from '@onceledger/core'
import { type BatchItem, commandsOf, recordOf } from './batch.ts'
import type { Names } from './names.ts'
import { ifAny, Packet } from './packet.ts'
import type { ShardDatabase } from './session.ts'
import { parseSources, parseWaiting, selectDeferredSources, selectWaiting } from './sql/deferred.ts'
import { parseParkedAt, parkedKey, selectParkedAt } from './sql/evidence.ts'
import { parseEventSources, parseEvents, selectEvents } from './sql/inbox.ts'
import { identityOf, parseOperations, selectOperations } from './sql/operation.ts'
import { type OutboxRow, parseOutbox, selectOutbox } from './sql/outbox.ts'

export interface DeriveContext {
  readonly database: ShardDatabase
  readonly names: Names
  readonly registry: ContractRegistry
}

/** A result in its place, ready to be sent. */
export interface DerivedResult {
  readonly key: Uint8Array | string | null
  readonly value: Uint8Array | string
  /** The message that it answers, where its row in the outbox goes once it was acknowledged. */
  readonly outboxOf: bigint | null
}

export interface DerivedResults {
  readonly results: readonly DerivedResult[]
  /** Messages of which nothing is stored, so that no result can be told. */
  readonly unknown: readonly bigint[]
}

/** Rows of the outbox that one look takes at most. */
const OUTBOX_ROWS_MAX = 10_000

/**
 * The results of messages that were judged before and whose results may not have been published: read out of the stored rows, in the order of
 * their commits. The messages are those of one partition from its published offset on, in order; `last` says that they reach its applied offset.
 * What was decided later and stands in the outbox comes in its own place.
 */
export async function deriveResults(
  context: DeriveContext,
  partition: Pick<SourcePosition, 'topic' | 'partition'>,
  items: readonly BatchItem[],
  reach: { readonly from: bigint; readonly to: bigint; readonly last: boolean },
): Promise<DerivedResults> {
  const stored = await readStored(context, partition, items)
  const results: DerivedResult[] = []
  const unknown: bigint[] = []
  const rows = stored.outbox.filter(
    ({ causeOffset, phase }) =>
      causeOffset >= reach.from && (causeOffset < reach.to || (reach.last && causeOffset === reach.to && phase === 0)),
  )
  let at = 0
  const takeOutbox = (until: (row: OutboxRow) => boolean): void => {
    for (let row = rows[at]; row !== undefined && until(row); row = rows[++at])
      results.push({ key: row.key, value: row.value, outboxOf: row.sourceOffset })
  }
  for (const item of items) {
    const record = recordOf(item)
    const { offset } = record.position
    takeOutbox((row) => row.causeOffset < offset || (row.causeOffset === offset && row.phase === 0))
    if (!stored.inOutbox.has(offset)) {
      const judgement = judgementOf(item, stored, context.registry)
      if (judgement === null) unknown.push(offset)
      else results.push({ ...encodeResult({ record, command: item.kind === 'command' ? item.command : null, judgement }), outboxOf: null })
    }
  }
  takeOutbox(() => true)
  return { results, unknown }
}

/** Rows of the outbox of a partition of which everything else was published. */
export async function loadOutbox(
  database: ShardDatabase,
  partition: Pick<SourcePosition, 'topic' | 'partition'>,
): Promise<DerivedResult[]> {
  const [rows = []] = await database.withSession((session) => session.run(selectOutbox(partition, OUTBOX_ROWS_MAX)))
  return parseOutbox(rows).map(({ key, value, sourceOffset }) => ({ key, value, outboxOf: sourceOffset }))
}

interface StoredTraces {
  readonly operations: ReadonlyMap<string, StoredOperation>
  readonly events: ReadonlyMap<string, StoredEvent>
  /** The message that an event's row came from, and why it has its verdict. */
  readonly sources: ReadonlyMap<string, { readonly offset: bigint | null; readonly reason: EventReason | null }>
  readonly waitingEvents: ReadonlySet<string>
  readonly waitingSources: ReadonlySet<bigint>
  /** Reason by position and digest. */
  readonly parked: ReadonlyMap<string, string>
  readonly outbox: readonly OutboxRow[]
  readonly inOutbox: ReadonlySet<bigint>
}

async function readStored(
  { database, names }: DeriveContext,
  partition: Pick<SourcePosition, 'topic' | 'partition'>,
  items: readonly BatchItem[],
): Promise<StoredTraces> {
  const commands = commandsOf(items)
  await names.resolveTenants(commands.map(({ tenantId }) => tenantId))
  const identities = commands.filter(({ operationId }) => operationId !== null).map((command) => identityOf(command, names))
  const ordered = commands.filter(({ contract }) => contract.order === 'sequence')
  const offsets = items.map((item) => recordOf(item).position.offset)

  const packet = new Packet()
  const operations = packet.add(ifAny(identities, (list) => selectOperations(list, names)))
  const events = packet.add(ifAny(commands, (list) => selectEvents(list, names)))
  const waiting = packet.add(ifAny(ordered, (list) => selectWaiting(list, names)))
  const waitingSources = packet.add(ifAny(offsets, (list) => selectDeferredSources(partition, list)))
  const parked = packet.add(ifAny(offsets, (list) => selectParkedAt(partition, list)))
  const outbox = packet.add(selectOutbox(partition, OUTBOX_ROWS_MAX))
  await database.withSession((session) => packet.send(session))

  const rows = parseOutbox(outbox())
  return {
    operations: parseOperations(operations(), identities),
    events: parseEvents(events(), commands, names),
    sources: parseEventSources(events(), commands),
    waitingEvents: parseWaiting(waiting(), ordered),
    waitingSources: parseSources(waitingSources()),
    parked: parseParkedAt(parked()),
    outbox: rows,
    inOutbox: new Set(rows.map(({ sourceOffset }) => sourceOffset)),
  }
}

function judgementOf(item: BatchItem, stored: StoredTraces, registry: ContractRegistry): Judgement | null {
  const record = recordOf(item)
  const parkedReason = stored.parked.get(parkedKey(record.position.offset, recordDigest(record).toString('hex')))
  if (parkedReason !== undefined) return { verdict: 'PARKED', reason: parkedReason, first: null }
  if (item.kind === 'refused') return null
  const { command } = item
  if (stored.waitingSources.has(record.position.offset) || stored.waitingEvents.has(deferredKeyOf(command)))
    return { verdict: 'DEFERRED', reason: 'AHEAD_OF_SEQUENCE', first: null }
  const event = stored.events.get(eventKeyOf(command))
  const source = stored.sources.get(eventKeyOf(command))
  const decided = command.contract.identity === 'operation' ? stored.operations.get(operationKeyOf(command)) : event
  if (event !== undefined && (source?.offset === record.position.offset || decided === undefined))
    return { verdict: event.verdict, reason: source?.reason ?? null, first: firstOf(event, decided) }
  if (decided === undefined) return null
  return againstFirst(command, decided, registry)
}

/** The event's own row has the verdict; whoever judged has the result. */
function firstOf(event: StoredEvent, decided: StoredOperation | StoredEvent | undefined): Judgement['first'] {
  return event.verdict === 'CONFLICT' || event.verdict === 'STALE' ? null : (decided?.result ?? null)
}

/** Another message of a known identity. */
function againstFirst(command: Command, decided: StoredOperation | StoredEvent, registry: ContractRegistry): Judgement | null {
  const digest = digestUnderVersion(command, decided.contractVersion, registry)
  if (digest !== decided.digest) return { verdict: 'CONFLICT', reason: 'OTHER_INTENT', first: null }
  if (decided.result === null) return { verdict: 'STALE', reason: 'BEHIND_SEQUENCE', first: null }
  return { verdict: 'DUPLICATE', reason: decided.result.reason, first: decided.result }
}
