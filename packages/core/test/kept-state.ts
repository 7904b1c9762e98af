import { type Adjudication, adjudicate } from '../src/adjudicate.ts'
import type { Command } from '../src/command.ts'
import { CorruptData } from '../src/errors.ts'
import type { ContractRegistry } from '../src/contract.ts'
import type { AggregateId } from '../src/identity.ts'
import {
  accountKey,
  bindingKey,
  deferredKeyOf,
  eventKeyOf,
  operationKey,
  operationKeyOf,
  operationReference,
  stepKey,
} from '../src/keys.ts'
import type { AccountState, LedgerState, StoredBinding, StoredDeferred, StoredEvent, StoredOperation } from '../src/state.ts'
import type { AccountWrite, BatchWrites, SequenceWrite } from '../src/writes.ts'
import { NOW_US, registry } from './builders.ts'

/** What a database would keep between batches: takes each batch's rows as a unique key would, and is the next batch's state. */
export class KeptState implements LedgerState {
  readonly operations = new Map<string, StoredOperation>()
  readonly events = new Map<string, StoredEvent>()
  readonly accounts = new Map<string, AccountState>()
  readonly reversals = new Set<string>()
  readonly corruptAccounts = new Set<string>()
  readonly sequences = new Map<AggregateId, bigint>()
  readonly steps = new Map<string, string>()
  readonly deferred = new Map<AggregateId, StoredDeferred[]>()
  readonly deferredKeys = new Set<string>()
  readonly bindings = new Map<string, StoredBinding>()
  /** All rows so far, each kind in the order in which it was written. */
  readonly rows = { operations: 0, events: 0, postings: 0, reversals: 0, audits: 0, parked: 0 }
  readonly #registry: ContractRegistry
  /** Balance and version by `tenant/businessKey/currency`. */
  readonly balances = new Map<string, bigint>()
  readonly versions = new Map<string, bigint>()

  constructor(contracts: ContractRegistry = registry) {
    this.#registry = contracts
  }

  /** Commands that wait. */
  get waiting(): number {
    return this.deferredKeys.size
  }

  /** Judges the commands as one batch and keeps what it writes. */
  judge(commands: readonly Command[], nowUs: bigint = NOW_US): Adjudication {
    const adjudication = adjudicate(this, commands, { nowUs, registry: this.#registry })
    this.#keep(adjudication.writes)
    return adjudication
  }

  #keep(writes: BatchWrites): void {
    for (const { command, result } of writes.operations) {
      const stored = { contractVersion: command.contract.version, digest: command.digest, result }
      insert(this.operations, operationKeyOf(command), stored)
    }
    for (const { command, verdict, result } of writes.events) {
      const operation = command.operationId === null ? null : operationReference(command.contract.name, command.operationId)
      const digest = operation === null ? command.digest : null
      insert(this.events, eventKeyOf(command), { contractVersion: command.contract.version, verdict, operation, digest, result })
    }
    for (const { command, targetType, targetOperationId } of writes.reversals) {
      const key = operationKey(targetType, targetOperationId, command.aggregateId)
      if (this.reversals.has(key)) throw new CorruptData('TEST', `${targetOperationId} is reversed twice`)
      this.reversals.add(key)
    }
    for (const account of writes.accounts) this.#keepAccount(account)
    for (const head of writes.sequences) this.#keepHead(head)
    for (const { command, version } of writes.steps)
      insert(
        this.steps,
        stepKey(command.aggregateId, version),
        operationReference(command.contract.name, command.operationId ?? command.eventId),
      )
    for (const { command } of writes.bindings) {
      const { tenantId, contract, operationId, digest, businessKey } = command
      insert(this.bindings, bindingKey(tenantId, contract.name, operationId ?? ''), {
        contractVersion: contract.version,
        digest,
        businessKey,
      })
    }
    this.#keepWaiting(writes)
    for (const kind of KINDS) this.rows[kind] += writes[kind].length
  }

  #keepHead({ aggregateId, created, versionBefore, version }: SequenceWrite): void {
    const stored = this.sequences.get(aggregateId)
    if (created !== (stored === undefined) || versionBefore !== (stored ?? 0n) || version < versionBefore)
      throw new CorruptData('TEST', `the head of ${aggregateId} does not continue the stored one`)
    this.sequences.set(aggregateId, version)
  }

  #keepWaiting({ deferrals, drained }: BatchWrites): void {
    for (const { command, version } of deferrals) {
      const key = deferredKeyOf(command)
      if (this.deferredKeys.has(key)) throw new CorruptData('TEST', `${key} waits twice`)
      this.deferredKeys.add(key)
      this.deferred.set(command.aggregateId, [...(this.deferred.get(command.aggregateId) ?? []), { command, version }])
    }
    for (const command of drained) {
      if (!this.deferredKeys.delete(deferredKeyOf(command))) throw new CorruptData('TEST', 'a command is drained that did not wait')
      const left = (this.deferred.get(command.aggregateId) ?? []).filter((each) => each.command !== command)
      this.deferred.set(command.aggregateId, left)
    }
  }

  /** Refuses a row that does not continue the stored one, as the product's compare-and-set does. */
  #keepAccount(row: AccountWrite): void {
    const key = accountKey(row.aggregateId as Command['aggregateId'], row.currency)
    const stored = this.accounts.get(key)
    if (row.created !== (stored === undefined) || row.versionBefore !== (stored?.version ?? 0n))
      throw new CorruptData('TEST', `the write of ${key} does not continue the stored row`)
    const { balanceMinor, version, overdraftLimitMinor, limitVersion } = row
    this.accounts.set(key, { balanceMinor, version, overdraftLimitMinor, limitVersion })
    const name = `${row.tenantId}/${row.businessKey}/${row.currency}`
    this.balances.set(name, balanceMinor)
    this.versions.set(name, version)
  }
}

const KINDS = ['operations', 'events', 'postings', 'reversals', 'audits', 'parked'] as const

function insert<V>(rows: Map<string, V>, key: string, row: V): void {
  if (rows.has(key)) throw new CorruptData('TEST', `a second row for ${key}`)
  rows.set(key, row)
}
