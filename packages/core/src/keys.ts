import type { Command } from './command.ts'
import { Bug } from './errors.ts'
import type { AggregateId } from './identity.ts'

/** In-memory keys of the rows that judge. The aggregate id contains the tenant; ids hold no NUL, so the parts have one reading. */

/** The operation's identity within its scope (IDN-2). */
export function operationKey(type: string, operationId: string, aggregateId: AggregateId): string {
  return `${aggregateId}${type}\u0000${operationId}`
}

/** The event's identity: consumer, event and scope. Its day is a function of the id, or of its first processing. */
export function eventKey(consumer: string, eventId: string, aggregateId: AggregateId): string {
  return `${aggregateId}${consumer}\u0000${eventId}`
}

/** A place in a business key's sequence. */
export function stepKey(aggregateId: AggregateId, version: bigint): string {
  return `${aggregateId}${version}`
}

/** A command that waits for its turn, as the key of its row has it: an event id used for two operations or two intents is two commands. */
export function deferredKeyOf(command: Command): string {
  return `${command.digest}${command.aggregateVersion ?? ''}\u0000${command.operationId ?? ''}\u0000${eventKeyOf(command)}`
}

/** A tenant-wide identity. A tenant id holds no slash. */
export function bindingKey(tenantId: string, type: string, operationId: string): string {
  return `${tenantId}/${type}/${operationId}`
}

export function accountKey(aggregateId: AggregateId, currency: string): string {
  return aggregateId + currency
}

export function operationKeyOf(command: Command): string {
  if (command.operationId === null) throw new Bug(`a ${command.contract.name} has no operation identity`)
  return operationKey(command.contract.name, command.operationId, command.aggregateId)
}

export function eventKeyOf(command: Command): string {
  return eventKey(command.contract.consumer, command.eventId, command.aggregateId)
}

/** How an inbox row names the operation that its event carried. */
export function operationReference(type: string, operationId: string): string {
  return `${type}/${operationId}`
}
