import type { NaiveCommand, NaiveType } from './naive-model.ts'

/** What the plain model needs to read a command. */

const INTENT_FIELDS: Readonly<Record<NaiveType, Readonly<Record<number, readonly string[]>>>> = {
  deposit: { 1: ['amount', 'currency'], 2: ['amount', 'currency', 'reference'] },
  withdraw: { 1: ['amount', 'currency'] },
  collect: { 1: ['amount', 'currency'] },
  credit: { 1: ['amount', 'currency'] },
  open: { 1: ['currency', 'overdraftLimit'] },
  pay: { 1: ['amount', 'currency'] },
  entry: { 1: ['amount', 'currency'] },
  limit: { 1: ['currency', 'overdraftLimit'] },
  reverse: { 1: ['currency', 'targetOperationId', 'targetType'] },
}
const RETRYABLE_FOR_ALL = ['ACCOUNT_NOT_FOUND', 'TARGET_NOT_FOUND', 'BALANCE_OVERFLOW']
const LARGEST = 9223372036854775807n
export const DAY_MS = 86_400_000
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

export const NOTHING_POSTED = { currency: null, amountMinor: 0n, accountVersion: 0n, balanceAfterMinor: 0n }

export function isRetryable(type: NaiveType, reason: string): boolean {
  return RETRYABLE_FOR_ALL.includes(reason) || (type === 'collect' && reason === 'INSUFFICIENT_FUNDS')
}

export function isTooLarge(balance: bigint): boolean {
  return balance > LARGEST || balance < -LARGEST
}

export function identityOf(command: NaiveCommand): string {
  if (command.operationId === null) return JSON.stringify(['event', command.tenantId, command.businessKey, command.eventId])
  return operationIdentity(command, command.type, command.operationId)
}

export function operationIdentity(command: NaiveCommand, type: string, operationId: string): string {
  return JSON.stringify([command.tenantId, type, operationId, command.businessKey])
}

export function accountKeyOf(tenantId: string, businessKey: string, currency: string): string {
  return `${tenantId}/${businessKey}/${currency}`
}

/** The members that make up the intent in that version, or null where the command lacks one. */
export function intentUnder(command: NaiveCommand, version: number): string | null {
  const fields = INTENT_FIELDS[command.type][version]
  if (fields === undefined) return null
  const members = fields.map((name) => command.data[name])
  return members.includes(undefined) ? null : JSON.stringify(members)
}

export function read(data: Readonly<Record<string, string>>, name: string): string {
  const value = data[name]
  if (value === undefined) throw new Error(`the test's command has no ${name}`)
  return value
}

/** Milliseconds in a UUIDv7 (RFC 9562) or a ULID; null for ids without a time. */
export function timeOfId(id: string): number | null {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))
    return Number(`0x${id.slice(0, 8)}${id.slice(9, 13)}`)
  if (/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(id))
    return id
      .slice(0, 10)
      .split('')
      .reduce((ms, digit) => ms * 32 + CROCKFORD.indexOf(digit), 0)
  return null
}
