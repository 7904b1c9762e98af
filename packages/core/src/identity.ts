import { hash } from 'node:crypto'
import { Bug, InvalidCommand } from './errors.ts'

declare const brand: unique symbol
type Branded<T, B extends string> = T & { readonly [brand]: B }

export type TenantId = Branded<string, 'TenantId'>
export type BusinessKey = Branded<string, 'BusinessKey'>
/** One immutable fact or command as it travels (IDN-1). */
export type EventId = Branded<string, 'EventId'>
/** One intent inside its scope (IDN-1). */
export type OperationId = Branded<string, 'OperationId'>
/** 32 hex digits: SHA-256 of tenant and business key, cut to 128 bits. The same in every shard, so no allocation is needed. */
export type AggregateId = Branded<string, 'AggregateId'>

export const TENANT_ID_BYTES_MAX = 64
export const BUSINESS_KEY_BYTES_MAX = 128
export const ID_BYTES_MAX = 128
/** Business keys that begin so belong to the ledger itself; a command that names one is refused. */
const SYSTEM_KEY_PREFIX = '@'

/**
 * Ids are compared as bytes: nothing is trimmed, folded or normalised, so whatever could not be stored exactly is refused.
 * @throws InvalidCommand `ID_EMPTY`, `ID_TOO_LONG`, `ID_NUL`, `ID_NOT_UNICODE`.
 */
function checkId(text: string, what: string, bytesMax: number): string {
  if (text.length === 0) throw new InvalidCommand('ID_EMPTY', `${what} is empty`)
  if (text.includes('\u0000')) throw new InvalidCommand('ID_NUL', `${what} contains a NUL character`)
  if (!text.isWellFormed()) throw new InvalidCommand('ID_NOT_UNICODE', `${what} contains half of a surrogate pair`)
  if (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax)
    throw new InvalidCommand('ID_TOO_LONG', `${what} is ${Buffer.byteLength(text)} bytes long, at most ${bytesMax} are allowed`)
  return text
}

/** @throws InvalidCommand also `TENANT_HAS_SLASH`: the routing key is tenant/businessKey and must have one reading only. */
export function parseTenantId(text: string): TenantId {
  if (text.includes('/')) throw new InvalidCommand('TENANT_HAS_SLASH', 'tenantid must not contain "/"')
  return checkId(text, 'tenantid', TENANT_ID_BYTES_MAX) as TenantId
}

/** @throws InvalidCommand also `KEY_RESERVED` for keys of the ledger's own accounts. */
export function parseBusinessKey(text: string): BusinessKey {
  if (text.startsWith(SYSTEM_KEY_PREFIX)) throw new InvalidCommand('KEY_RESERVED', `businesskey must not begin with "${SYSTEM_KEY_PREFIX}"`)
  return checkId(text, 'businesskey', BUSINESS_KEY_BYTES_MAX) as BusinessKey
}

export function parseEventId(text: string): EventId {
  return checkId(text, 'id', ID_BYTES_MAX) as EventId
}

export function parseOperationId(text: string): OperationId {
  return checkId(text, 'operationid', ID_BYTES_MAX) as OperationId
}

/** The Kafka key, the CloudEvents `partitionkey` and the input of the bucket function (RTE-1). */
export function routingKey(tenantId: string, businessKey: string): string {
  return `${tenantId}/${businessKey}`
}

/** The business key of the ledger's counter account of one bucket: striped, so that no row is hot across partitions. */
export function externalKeyOf(bucket: number): BusinessKey {
  return `${SYSTEM_KEY_PREFIX}external/${bucket}` as BusinessKey
}

const AGGREGATES_REMEMBERED_MAX = 50_000
const aggregates = new Map<string, AggregateId>()

/**
 * tenantId holds no "/", so the input has one reading. A stored account row still names both and is compared at every read. Accounts are met
 * again and again, so a bounded memory of past answers is kept.
 */
export function aggregateIdOf(tenantId: string, businessKey: string): AggregateId {
  const key = routingKey(tenantId, businessKey)
  const known = aggregates.get(key)
  if (known !== undefined) return known
  const aggregateId = hash('sha256', key, 'hex').slice(0, 32) as AggregateId
  if (aggregates.size >= AGGREGATES_REMEMBERED_MAX) aggregates.clear()
  aggregates.set(key, aggregateId)
  return aggregateId
}

/**
 * How an id is stored: a kind byte, then the 16 bytes of a UUID or ULID in its one canonical spelling, or the UTF-8 bytes of
 * anything else. The mapping is injective: another spelling of the same UUID is another id, and stored as opaque text.
 */
export type IdKind = 'opaque' | 'uuidv7' | 'ulid' | 'uuid'
const KIND_BYTES: Record<IdKind, string> = { opaque: '00', uuidv7: '01', ulid: '02', uuid: '03' }

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** First digit of the fourth group: the variant that RFC 9562 defines. */
const UUID_VARIANT = '89ab'
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** RFC 9562 section 5.7 for UUIDv7; the ULID specification's canonical upper case for ULID. */
export function idKindOf(id: string): IdKind {
  if (id.length === 36 && UUID.test(id)) return id[14] === '7' && UUID_VARIANT.includes(id.charAt(19)) ? 'uuidv7' : 'uuid'
  if (id.length === 26 && ULID.test(id)) return 'ulid'
  return 'opaque'
}

/** The stored bytes of an id, as hex digits. */
export function idToHex(id: string): string {
  const kind = idKindOf(id)
  if (kind === 'opaque') return KIND_BYTES.opaque + Buffer.from(id, 'utf8').toString('hex')
  if (kind === 'ulid') return KIND_BYTES.ulid + ulidToHex(id)
  return KIND_BYTES[kind] + id.replaceAll('-', '')
}

/** The inverse of idToHex. @throws Bug when the bytes have no known kind. */
export function idFromBytes(bytes: Buffer): string {
  const hex = bytes.toString('hex', 1)
  switch (bytes[0]) {
    case 0:
      return bytes.toString('utf8', 1)
    case 1:
    case 3:
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
    case 2:
      return hexToUlid(hex)
    default:
      throw new Bug(`stored id of unknown kind ${String(bytes[0])}`)
  }
}

/** The kind of an id from its stored bytes in hex digits. */
export function idKindOfHex(hex: string): IdKind {
  switch (hex.charCodeAt(1)) {
    case 0x31:
      return 'uuidv7'
    case 0x32:
      return 'ulid'
    case 0x33:
      return 'uuid'
    default:
      return 'opaque'
  }
}

/** Milliseconds since 1970 that a stored id itself carries (its first 48 bits), or null for kinds without a time. */
export function idTimeMsOfHex(hex: string): number | null {
  const kind = idKindOfHex(hex)
  return kind === 'uuidv7' || kind === 'ulid' ? Number.parseInt(hex.slice(2, 14), 16) : null
}

function ulidToHex(id: string): string {
  let value = 0n
  for (const character of id) value = (value << 5n) | BigInt(CROCKFORD.indexOf(character))
  return value.toString(16).padStart(32, '0')
}

function hexToUlid(hex: string): string {
  let value = BigInt(`0x${hex}`)
  let text = ''
  for (let i = 0; i < 26; i++) {
    text = CROCKFORD[Number(value & 31n)] + text
    value >>= 5n
  }
  return text
}
