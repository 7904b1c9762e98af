import { type Command, createCommand } from '../command.ts'
import type { Contract, ContractRegistry } from '../contract.ts'
import { InvalidCommand } from '../errors.ts'
import { type OperationId, parseBusinessKey, parseEventId, parseOperationId, parseTenantId, routingKey } from '../identity.ts'
import type { SourceRecord } from '../record.ts'
import type { ParkedWrite } from '../writes.ts'
import { type Attributes, parseAttributes } from './attributes.ts'
import { readEvent } from './modes.ts'

export interface DecodeOptions {
  readonly registry: ContractRegistry
  /** Bucket of a routing key `tenantId/businessKey` (RTE-1). */
  readonly bucketOf: (routingKey: string) => number
}

/** A command, or the reason why the message is none, ready to be parked with its bytes (ADJ-10). */
export type Decoded = { readonly kind: 'command'; readonly command: Command } | { readonly kind: 'refused'; readonly parked: ParkedWrite }

/** Turns any message into a command or a refusal. Bad input never throws: whatever the bytes are, the message has a place to go. */
export function decodeRecord(record: SourceRecord, options: DecodeOptions): Decoded {
  try {
    return { kind: 'command', command: decodeCommand(record, options) }
  } catch (error) {
    if (!(error instanceof InvalidCommand)) throw error
    return { kind: 'refused', parked: { record, tenantId: null, reason: error.code, detail: error.message, retryable: false } }
  }
}

const TYPE = /^onceledger\.([a-z][a-z0-9-]{0,63})\.v([1-9]\d{0,4})$/

function decodeCommand(record: SourceRecord, options: DecodeOptions): Command {
  const event = readEvent(record)
  const attributes = parseAttributes(event.attributes)
  const contract = findContract(attributes.type, options.registry)
  const tenantId = parseTenantId(attributes.tenantid)
  const businessKey = parseBusinessKey(attributes.businesskey)
  const bucket = checkRoute(record, attributes, routingKey(tenantId, businessKey), options)
  return createCommand({
    record,
    contract,
    tenantId,
    businessKey,
    bucket,
    eventId: parseEventId(attributes.id),
    operationId: checkOperationId(contract, attributes.operationid),
    aggregateVersion: checkAggregateVersion(contract, attributes.aggregateversion),
    data: checkData(event.data),
  })
}

/** @throws InvalidCommand `UNKNOWN_CONTRACT` with the versions that are known. */
function findContract(type: string, registry: ContractRegistry): Contract {
  const [, name = '', version = '0'] = TYPE.exec(type) ?? []
  const contract = registry.find(name, Number(version))
  if (contract !== undefined) return contract
  const known = registry.all().map((each) => `onceledger.${each.name}.v${each.version}`)
  throw new InvalidCommand('UNKNOWN_CONTRACT', `type ${JSON.stringify(type.slice(0, 100))} is unknown here; known are ${known.join(', ')}`)
}

/** RTE-1: the key decides the place, and a message in another place is not applied there. */
function checkRoute(record: SourceRecord, attributes: Attributes, key: string, options: DecodeOptions): number {
  if (attributes.partitionkey !== undefined && attributes.partitionkey !== key)
    throw new InvalidCommand('PARTITION_KEY_MISMATCH', 'partitionkey must be tenantid/businesskey')
  if (record.key !== null && !isUtf8Of(record.key, key))
    throw new InvalidCommand('KEY_MISMATCH', "the message's key must be the bytes of tenantid/businesskey")
  const bucket = options.bucketOf(key)
  if (bucket !== record.position.partition)
    throw new InvalidCommand(
      'MISROUTED',
      `this key belongs to partition ${bucket} and came in ${record.position.partition}: use the default partitioner (murmur2) with the key tenantid/businesskey`,
    )
  return bucket
}

/** Compares without a copy as long as all is ASCII. */
function isUtf8Of(bytes: Uint8Array, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) return Buffer.from(text, 'utf8').equals(bytes)
    if (bytes[i] !== code) return false
  }
  return bytes.length === text.length
}

function checkOperationId(contract: Contract, text: string | undefined): OperationId | null {
  if (contract.identity === 'event') {
    if (text === undefined) return null
    throw new InvalidCommand(
      'OPERATION_ID_NOT_ALLOWED',
      `${contract.name} is judged by its event id; an operationid would protect nothing, leave it out`,
    )
  }
  if (text === undefined) throw new InvalidCommand('OPERATION_ID_MISSING', `${contract.name} needs an operationid, kept across retries`)
  return parseOperationId(text)
}

function checkAggregateVersion(contract: Contract, given: number | string | undefined): bigint | null {
  if (given === undefined) {
    if (contract.order === 'none') return null
    throw new InvalidCommand('AGGREGATE_VERSION_MISSING', `${contract.name} needs the aggregateversion that it produces`)
  }
  const version = BigInt(given)
  if (version < 2n ** 63n) return version
  throw new InvalidCommand('ENVELOPE_INVALID', 'attribute aggregateversion: larger than a 64-bit integer')
}

function checkData(data: unknown): Readonly<Record<string, unknown>> {
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data as Record<string, unknown>
  throw new InvalidCommand('DATA_INVALID', 'data must be a JSON object with the fields of the contract')
}
