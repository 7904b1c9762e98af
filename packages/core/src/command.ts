import type { Contract, ContractRegistry } from './contract.ts'
import { type Intent, intentDigest } from './digest.ts'
import { InvalidCommand } from './errors.ts'
import {
  type AggregateId,
  aggregateIdOf,
  type BusinessKey,
  type EventId,
  idKindOfHex,
  idToHex,
  type OperationId,
  routingKey,
  type TenantId,
} from './identity.ts'
import type { SourceRecord } from './record.ts'

/** One command, parsed and validated: what adjudication judges. */
export interface Command {
  readonly record: SourceRecord
  readonly contract: Contract
  readonly tenantId: TenantId
  readonly businessKey: BusinessKey
  readonly aggregateId: AggregateId
  readonly bucket: number
  readonly eventId: EventId
  /** Null exactly where the contract is judged by event. */
  readonly operationId: OperationId | null
  /** Both ids as they are stored, in hex digits. */
  readonly eventIdHex: string
  readonly operationIdHex: string | null
  readonly aggregateVersion: bigint | null
  readonly intent: Intent
  /** The members of `data` as they came: another version of the contract may need more of them than this one. */
  readonly data: Readonly<Record<string, unknown>>
  /** Digest under the command's own contract version, 64 hex digits. */
  readonly digest: string
}

export type CommandInput = Omit<Command, 'aggregateId' | 'eventIdHex' | 'operationIdHex' | 'intent' | 'digest'>

/**
 * Completes a command with its derived identities.
 * @throws InvalidCommand `EVENT_ID_KIND` when the contract does not take such an event id, `DATA_INVALID` when `data` does not satisfy the contract.
 */
export function createCommand(input: CommandInput): Command {
  const eventIdHex = idToHex(input.eventId)
  requireIdKind(input.contract, eventIdHex)
  const intent = intentOf(input.contract, input.data)
  const key = routingKey(input.tenantId, input.businessKey)
  return {
    record: input.record,
    contract: input.contract,
    tenantId: input.tenantId,
    businessKey: input.businessKey,
    aggregateId: aggregateIdOf(input.tenantId, input.businessKey),
    bucket: input.bucket,
    eventId: input.eventId,
    operationId: input.operationId,
    eventIdHex,
    operationIdHex: input.operationId === null ? null : idToHex(input.operationId),
    aggregateVersion: input.aggregateVersion,
    intent,
    data: input.data,
    digest: intentDigest(input.contract.name, input.contract.version, key, intent),
  }
}

function requireIdKind(contract: Contract, eventIdHex: string): void {
  const kind = idKindOfHex(eventIdHex)
  if (contract.eventIdKinds.includes(kind)) return
  throw new InvalidCommand(
    'EVENT_ID_KIND',
    `${contract.name} takes ids of the kinds ${contract.eventIdKinds.join(', ')} in canonical spelling, this one is ${kind}`,
  )
}

function intentOf(contract: Contract, data: unknown): Intent {
  const parsed = contract.data.safeParse(data)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new InvalidCommand('DATA_INVALID', `data.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`)
}

/**
 * The command's digest under another version of its contract, as the stored row was written with (IDN-4: an older version stays
 * comparable).
 * @returns null when that version is unknown here or asks for a field that the command does not carry.
 */
export function digestUnderVersion(command: Command, version: number, registry: ContractRegistry): string | null {
  if (version === command.contract.version) return command.digest
  const contract = registry.find(command.contract.name, version)
  if (contract === undefined) return null
  const parsed = contract.data.safeParse(command.data)
  if (!parsed.success) return null
  return intentDigest(contract.name, version, routingKey(command.tenantId, command.businessKey), parsed.data)
}
