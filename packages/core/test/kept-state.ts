import { type Adjudication, adjudicate } from '../src/adjudicate.ts'
import type { Command } from '../src/command.ts'
import { CorruptData } from '../src/errors.ts'
import { accountKey, eventKeyOf, operationKey, operationKeyOf, operationReference } from '../src/keys.ts'
import type { AccountState, LedgerState, StoredEvent, StoredOperation } from '../src/state.ts'
import type { AccountWrite, BatchWrites } from '../src/writes.ts'
import { NOW_US, registry } from './builders.ts'

/** What a database would keep between batches: takes each batch's rows as a unique key would, and is the next batch's state. */
export class KeptState implements LedgerState {
  readonly operations = new Map<string, StoredOperation>()
  readonly events = new Map<string, StoredEvent>()
  readonly accounts = new Map<string, AccountState>()
  readonly reversals = new Set<string>()
  readonly corruptAccounts = new Set<string>()
  /** All rows so far, each kind in the order in which it was written. */
  readonly rows = { operations: 0, events: 0, postings: 0, reversals: 0, audits: 0, parked: 0 }
  /** Balance and version by `tenant/businessKey/currency`. */
  readonly balances = new Map<string, bigint>()
  readonly versions = new Map<string, bigint>()

  /** Judges the commands as one batch and keeps what it writes. */
  judge(commands: readonly Command[], nowUs: bigint = NOW_US): Adjudication {
    const adjudication = adjudicate(this, commands, { nowUs, registry })
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
    for (const kind of KINDS) this.rows[kind] += writes[kind].length
  }

  /** Refuses a row that does not continue the stored one, as the product's compare-and-set does. */
  #keepAccount(row: AccountWrite): void {
    const key = accountKey(row.aggregateId as Command['aggregateId'], row.currency)
    const stored = this.accounts.get(key)
    if (row.created !== (stored === undefined) || row.versionBefore !== (stored?.version ?? 0n))
      throw new CorruptData('TEST', `the write of ${key} does not continue the stored row`)
    const { balanceMinor, version, overdraftLimitMinor } = row
    this.accounts.set(key, { balanceMinor, version, overdraftLimitMinor })
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
