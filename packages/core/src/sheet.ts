import type { Command } from './command.ts'
import { CorruptData } from './errors.ts'
import { type AggregateId, aggregateIdOf, type BusinessKey, externalKeyOf, type TenantId } from './identity.ts'
import { accountKey } from './keys.ts'
import { SequenceSheet } from './sequence-sheet.ts'
import type { LedgerState, StoredBinding, StoredEvent, StoredOperation } from './state.ts'
import type { AccountWrite, BatchWrites } from './writes.ts'

/** An account as this batch has it so far. */
export interface SheetAccount {
  readonly owner: AccountOwner
  readonly created: boolean
  readonly versionBefore: bigint
  version: bigint
  balanceMinor: bigint
  overdraftLimitMinor: bigint
  limitVersion: bigint
  touched: boolean
}

export interface AccountOwner {
  readonly aggregateId: AggregateId
  readonly tenantId: TenantId
  readonly businessKey: BusinessKey
  readonly currency: string
  readonly bucket: number
}

/** The working copy of one batch: the stored state below, what the batch itself has decided above. */
export class Sheet {
  readonly writes: Omit<BatchWrites, 'accounts' | 'sequences' | 'steps' | 'deferrals'> = {
    operations: [],
    events: [],
    postings: [],
    reversals: [],
    audits: [],
    parked: [],
    drained: [],
    bindings: [],
  }
  readonly sequence: SequenceSheet
  readonly #state: LedgerState
  readonly #operations = new Map<string, StoredOperation>()
  readonly #events = new Map<string, StoredEvent>()
  readonly #reversals = new Set<string>()
  readonly #bindings = new Map<string, StoredBinding>()
  readonly #accounts = new Map<string, SheetAccount>()

  constructor(state: LedgerState) {
    this.#state = state
    this.sequence = new SequenceSheet(state)
  }

  operation(key: string): StoredOperation | undefined {
    return this.#operations.get(key) ?? this.#state.operations.get(key)
  }

  recordOperation(key: string, operation: StoredOperation): void {
    this.#operations.set(key, operation)
  }

  event(key: string): StoredEvent | undefined {
    return this.#events.get(key) ?? this.#state.events.get(key)
  }

  recordEvent(key: string, event: StoredEvent): void {
    this.#events.set(key, event)
  }

  isReversed(targetKey: string): boolean {
    return this.#reversals.has(targetKey) || this.#state.reversals.has(targetKey)
  }

  recordReversal(targetKey: string): void {
    this.#reversals.add(targetKey)
  }

  binding(key: string): StoredBinding | undefined {
    return this.#bindings.get(key) ?? this.#state.bindings.get(key)
  }

  bind(key: string, command: Command): void {
    const { contract, digest, businessKey } = command
    this.#bindings.set(key, { contractVersion: contract.version, digest, businessKey })
    this.writes.bindings.push({ command })
  }

  /** Undefined where there is no such account yet. @throws CorruptData when the stored row of that key belongs to other names. */
  account(owner: AccountOwner): SheetAccount | undefined {
    const key = accountKey(owner.aggregateId, owner.currency)
    const known = this.#accounts.get(key)
    if (known !== undefined) return known
    const stored = this.#state.accounts.get(key)
    if (stored === undefined) return undefined
    if (this.#state.corruptAccounts.has(key))
      throw new CorruptData('ACCOUNT_CORRUPT', `the stored account ${key} names another tenant, key or currency`)
    const account = { owner, created: false, versionBefore: stored.version, ...stored, touched: false }
    this.#accounts.set(key, account)
    return account
  }

  openAccount(owner: AccountOwner, overdraftLimitMinor: bigint): SheetAccount {
    const fresh = { versionBefore: 0n, version: 0n, balanceMinor: 0n, limitVersion: 0n }
    const account = { owner, created: true, ...fresh, overdraftLimitMinor, touched: true }
    this.#accounts.set(accountKey(owner.aggregateId, owner.currency), account)
    return account
  }

  /** Sets the balance of an account of this sheet, and counts its version up. @returns the new version. */
  post(account: SheetAccount, balanceMinor: bigint): bigint {
    account.balanceMinor = balanceMinor
    account.version += 1n
    account.touched = true
    return account.version
  }

  /** Sets the overdraft limit of an account of this sheet. Its version counts postings and stays. */
  setLimit(account: SheetAccount, overdraftLimitMinor: bigint, limitVersion: bigint): void {
    account.overdraftLimitMinor = overdraftLimitMinor
    account.limitVersion = limitVersion
    account.touched = true
  }

  accountWrites(): AccountWrite[] {
    const rows: AccountWrite[] = []
    for (const account of this.#accounts.values()) {
      if (!account.touched) continue
      const { owner, created, versionBefore, version, balanceMinor, overdraftLimitMinor, limitVersion } = account
      rows.push({ ...owner, created, versionBefore, version, balanceMinor, overdraftLimitMinor, limitVersion })
    }
    return rows
  }
}

const EXTERNAL_OWNERS_MAX = 10_000
const externalOwners = new Map<string, AccountOwner>()

/** The counter account of a command's bucket. Derived by hash, so a bounded memory of past answers is kept. */
export function externalOwnerOf(tenantId: TenantId, bucket: number, currency: string): AccountOwner {
  const cacheKey = `${bucket}/${currency}/${tenantId}`
  const known = externalOwners.get(cacheKey)
  if (known !== undefined) return known
  const businessKey = externalKeyOf(bucket)
  const owner = { aggregateId: aggregateIdOf(tenantId, businessKey), tenantId, businessKey, currency, bucket }
  if (externalOwners.size >= EXTERNAL_OWNERS_MAX) externalOwners.clear()
  externalOwners.set(cacheKey, owner)
  return owner
}
