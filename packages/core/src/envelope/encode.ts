import { routingKey } from '../identity.ts'

/** A command as its sender knows it. */
export interface CommandToSend {
  /** Contract and version, such as `deposit.v1`. */
  readonly type: string
  readonly tenantId: string
  readonly businessKey: string
  readonly eventId: string
  readonly operationId?: string
  readonly aggregateVersion?: bigint
  /** A URI reference that names the sender. */
  readonly source: string
  /** RFC 3339, where the sender wants to tell. */
  readonly time?: string
  readonly data: Readonly<Record<string, string>>
}

export interface EncodedCommand {
  readonly key: string
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** A command as a CloudEvent in structured mode, keyed so that the default partitioner finds its bucket (RTE-1). */
export function encodeCommand(command: CommandToSend): EncodedCommand {
  const key = routingKey(command.tenantId, command.businessKey)
  const event = {
    specversion: '1.0',
    id: command.eventId,
    source: command.source,
    type: `onceledger.${command.type}`,
    time: command.time,
    tenantid: command.tenantId,
    businesskey: command.businessKey,
    operationid: command.operationId,
    aggregateversion: command.aggregateVersion?.toString(),
    partitionkey: key,
    data: command.data,
  }
  return { key, value: JSON.stringify(event), headers: { 'content-type': 'application/cloudevents+json' } }
}
