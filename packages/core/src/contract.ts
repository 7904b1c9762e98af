import type { z } from 'zod'
import { Bug } from './errors.ts'
import type { IdKind } from './identity.ts'

/** Why an effect can be refused for what the ledger holds, as opposed to how the command is written. */
export type RejectionReason =
  | 'ACCOUNT_NOT_FOUND'
  | 'ACCOUNT_EXISTS'
  | 'INSUFFICIENT_FUNDS'
  | 'BALANCE_OVERFLOW'
  | 'TARGET_NOT_FOUND'
  | 'TARGET_NOT_REVERSIBLE'
  | 'ALREADY_REVERSED'

/** ADJ-5. `final`: the refusal is stored and replayed for ever. `retryable`: nothing is recorded as done; it may be tried again. */
export type RejectionPolicy = 'final' | 'retryable'

/** What the intent does to the ledger, as data. The counter posting always goes to the bucket's external account. */
export type Effect =
  | { readonly kind: 'post'; readonly sign: 1n | -1n; readonly opensAccount: boolean }
  | { readonly kind: 'open' }
  | { readonly kind: 'limit' }
  | { readonly kind: 'reverse' }

/** How a contract with the order `sequence` treats a version that was not applied, and how long a command may wait for its predecessor. */
export interface SequenceRules {
  /** Whether a final refusal takes the version that its command claimed, or leaves it to another operation while the successors wait. */
  readonly finalRejection: 'takes-version' | 'leaves-version'
  /** A command that waited longer is parked: the gap is an operator's to close (ORD-3). */
  readonly deferredAgeMaxMs: number
}

/** The rules of one operation type in one version (IDN-3). */
export interface Contract {
  readonly name: string
  readonly version: number
  /** Who mints the identity and must keep it across retries. */
  readonly issuer: 'client' | 'producer'
  /** `operation`: the permanent operation key judges. `event`: the inbox is the only judge. */
  readonly identity: 'operation' | 'event'
  readonly scope: 'business-key' | 'tenant'
  /** Name under which the inbox keeps the events of this contract. */
  readonly consumer: string
  /** `none`: commutative. The others need `aggregateversion` (ORD-1, ORD-4). */
  readonly order: 'none' | 'sequence' | 'snapshot'
  /** Exactly with the order `sequence`. */
  readonly sequence?: SequenceRules
  /** Kinds of event id that are accepted. A contract judged by event takes only ids that carry their time. */
  readonly eventIdKinds: readonly IdKind[]
  /** How far an event id's own time may lie ahead of the clock. */
  readonly clockSkewMs: number
  readonly resultRetention: 'permanent' | 'window'
  /** A duplicate is answered with the first result, another intent with CONFLICT: there is no other answer (IDN-6, IDN-7). */
  readonly onDuplicate: 'first-result'
  readonly onConflict: 'audit-and-refuse'
  readonly rejections: Readonly<Record<RejectionReason, RejectionPolicy>>
  readonly effect: Effect
  /** Validates `data`; its members are the intent, all of them strings. Members outside it are ignored (IDN-4). */
  readonly data: z.ZodObject<Record<string, z.ZodType<string, string>>>
}

/** Never changed between versions of a type: stored rows of all versions are judged by the same key. */
const FIXED_ACROSS_VERSIONS = ['issuer', 'identity', 'scope', 'order', 'consumer'] as const

export interface ContractRegistry {
  /** undefined when this deployment does not know the contract in that version. */
  find(name: string, version: number): Contract | undefined
  all(): readonly Contract[]
}

/** @throws Bug when versions of a type disagree in what may never change, or a contract contradicts itself. */
export function createContractRegistry(contracts: readonly Contract[]): ContractRegistry {
  const byKey = new Map<string, Contract>()
  const firstByName = new Map<string, Contract>()
  for (const contract of contracts) {
    const key = `${contract.name}.v${contract.version}`
    if (byKey.has(key)) throw new Bug(`contract ${key} is registered twice`)
    byKey.set(key, contract)
    assertConsistent(contract)
    const first = firstByName.get(contract.name) ?? contract
    firstByName.set(contract.name, first)
    for (const field of FIXED_ACROSS_VERSIONS)
      if (first[field] !== contract[field]) throw new Bug(`contract ${key} changes ${field}, which no version may change`)
    if ((first.sequence?.finalRejection ?? '') !== (contract.sequence?.finalRejection ?? ''))
      throw new Bug(`contract ${key} changes what a final rejection does to its version`)
    if (first.eventIdKinds.join() !== contract.eventIdKinds.join()) throw new Bug(`contract ${key} changes its event id kinds`)
  }
  return { find: (name, version) => byKey.get(`${name}.v${version}`), all: () => [...byKey.values()] }
}

function assertConsistent(contract: Contract): void {
  if (!Number.isSafeInteger(contract.version) || contract.version < 1)
    throw new Bug(`contract ${contract.name}: version ${contract.version}`)
  const timeless = contract.eventIdKinds.some((kind) => kind === 'opaque' || kind === 'uuid')
  if (contract.identity === 'event' && timeless)
    throw new Bug(`contract ${contract.name} is judged by event, so every accepted id kind must carry its time`)
  if (contract.effect.kind === 'reverse' && contract.identity !== 'operation')
    throw new Bug(`contract ${contract.name} reverses and so must be judged by operation`)
  if (contract.scope === 'tenant' && contract.identity !== 'operation')
    throw new Bug(`contract ${contract.name} has the scope of its tenant and so must be judged by operation`)
  if ((contract.order === 'sequence') !== (contract.sequence !== undefined))
    throw new Bug(`contract ${contract.name} must have rules for its sequence exactly where it has one`)
  // ORD-4: what a snapshot sets may be overwritten by a newer one; a balance or a posting may not.
  if ((contract.order === 'snapshot') !== (contract.effect.kind === 'limit'))
    throw new Bug(`contract ${contract.name}: a limit is a snapshot, and nothing else is`)
}

/** What is stored beside the version in the database, so that a changed contract under an old number is noticed. */
export function describeContract(contract: Contract): Record<string, unknown> {
  const { data, effect, ...rest } = contract
  const described = effect.kind === 'post' ? { ...effect, sign: effect.sign.toString() } : effect
  return { ...rest, effect: described, intentFields: Object.keys(data.shape).sort() }
}
