import {
  type AggregateId,
  bindingKey,
  type Command,
  type ContractRegistry,
  type Decoded,
  decodeRecord,
  type LedgerState,
  type SourceRecord,
  type StoredBinding,
  type StoredDeferred,
} from '@onceledger/core'
import { bucketOfKey } from '@onceledger/shard-map'
import type { Names } from './names.ts'
import { lockAndReadMore } from './read-state.ts'
import type { Session } from './session.ts'
import { type DeferredKey, parsePayloads, selectPayloads } from './sql/deferred.ts'

/** Payload bytes taken into one transaction at most; a single command may be larger. */
const DUE_BYTES_MAX = 4 * 1024 * 1024

export interface DueChoice {
  readonly keys: readonly DeferredKey[]
  /** A bound was met: others whose turn it may be were left for the next transaction. */
  readonly more: boolean
}

/**
 * Of the commands that wait, those that a run of versions from the head can reach, the versions that this batch itself brings included. Whether
 * the run holds is for the judgement to say; what it does not reach stays as it is.
 */
export function chooseDue(
  candidates: readonly DeferredKey[],
  heads: LedgerState['sequences'],
  commands: readonly Command[],
  rowsMax: number,
): DueChoice {
  if (candidates.length === 0) return { keys: [], more: false }
  const versions = new Map<AggregateId, Set<bigint>>()
  const add = (aggregateId: AggregateId, version: bigint): void => {
    const known = versions.get(aggregateId)
    if (known === undefined) versions.set(aggregateId, new Set([version]))
    else known.add(version)
  }
  for (const { aggregateIdHex, version } of candidates) add(aggregateIdHex, version)
  for (const { contract, aggregateId, aggregateVersion } of commands)
    if (contract.order === 'sequence' && aggregateVersion !== null) add(aggregateId, aggregateVersion)

  const reach = new Map<AggregateId, bigint>()
  for (const [aggregateId, of] of versions) {
    let last = heads.get(aggregateId) ?? 0n
    while (of.has(last + 1n)) last += 1n
    reach.set(aggregateId, last)
  }
  const reached = candidates.filter(({ aggregateIdHex, version }) => version <= (reach.get(aggregateIdHex) ?? 0n))
  const keys: DeferredKey[] = []
  let sizeBytes = 0
  for (const key of reached) {
    sizeBytes += key.sizeBytes
    if (keys.length === rowsMax || (keys.length > 0 && sizeBytes > DUE_BYTES_MAX)) return { keys, more: true }
    keys.push(key)
  }
  return { keys, more: false }
}

export interface DueContext {
  readonly names: Names
  readonly registry: ContractRegistry
  readonly bucketCount: number
}

/** A message read from a row, as if it had just come from its log. */
export function decodeKept(record: SourceRecord, { registry, bucketCount }: DueContext): Decoded {
  return decodeRecord(record, { registry, bucketOf: (key) => bucketOfKey(key, bucketCount) })
}

/**
 * Brings the chosen commands into the state, with their accounts locked and their identities read. One that can no longer be decoded stays
 * where it is until its age parks it.
 */
export async function addDue(
  session: Session,
  ledger: LedgerState,
  keys: readonly DeferredKey[],
  context: DueContext,
): Promise<LedgerState> {
  if (keys.length === 0) return ledger
  const [rows = []] = await session.run(selectPayloads(keys))
  const commands: Command[] = []
  for (const { record } of parsePayloads(rows)) {
    const decoded = decodeKept(record, context)
    if (decoded.kind === 'command') commands.push(decoded.command)
  }
  if (commands.length === 0) return ledger
  // Of those that claim one version, the one that came first is judged first.
  commands.sort((left, right) => (left.record.position.offset < right.record.position.offset ? -1 : 1))
  await context.names.resolveTenants(commands.map(({ tenantId }) => tenantId))
  const more = await lockAndReadMore(session, commands, context.names)
  return {
    operations: new Map([...ledger.operations, ...more.operations]),
    reversals: new Set([...ledger.reversals, ...more.reversals]),
    events: new Map([...ledger.events, ...more.events]),
    accounts: new Map([...ledger.accounts, ...more.accounts]),
    corruptAccounts: new Set([...ledger.corruptAccounts, ...more.corruptAccounts]),
    sequences: ledger.sequences,
    steps: new Map([...ledger.steps, ...more.steps]),
    deferred: byAggregate(commands),
    deferredKeys: ledger.deferredKeys,
    // A command that waits has claimed its tenant-wide identity before: it would be a conflict otherwise.
    bindings: new Map([...ledger.bindings, ...commands.filter(isTenantWide).map(ownBinding)]),
  }
}

function byAggregate(commands: readonly Command[]): Map<AggregateId, StoredDeferred[]> {
  const deferred = new Map<AggregateId, StoredDeferred[]>()
  for (const command of commands) {
    const waiting = { command, version: command.aggregateVersion ?? 0n }
    const known = deferred.get(command.aggregateId)
    if (known === undefined) deferred.set(command.aggregateId, [waiting])
    else known.push(waiting)
  }
  return deferred
}

function isTenantWide({ contract }: Command): boolean {
  return contract.scope === 'tenant'
}

function ownBinding({ tenantId, contract, operationId, digest, businessKey }: Command): [string, StoredBinding] {
  return [bindingKey(tenantId, contract.name, operationId ?? ''), { contractVersion: contract.version, digest, businessKey }]
}
