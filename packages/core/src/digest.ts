import { hash } from 'node:crypto'

/** The fields that make up an intent, by name, as strings (IDN-4). */
export type Intent = Readonly<Record<string, string>>

/**
 * SHA-256 over the RFC 8785 encoding of the contract's name, its version, whose account it is, and the intent's fields. Neither the
 * order of members nor anything outside the contract can change it; the version is part of it, so versions are never confused.
 *
 * For strings and small integers RFC 8785 is what JSON.stringify writes once the members stand in the order of their UTF-16 code units; a
 * property test holds this to the reference implementation.
 * @returns 64 hex digits.
 */
export function intentDigest(contract: string, version: number, routingKey: string, intent: Intent): string {
  return hash('sha256', canonicalIntent(contract, version, routingKey, intent), 'hex')
}

/** Written member by member: an object would move names that look like numbers to its front. */
export function canonicalIntent(contract: string, version: number, routingKey: string, intent: Intent): string {
  let members = ''
  for (const name of Object.keys(intent).sort())
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(intent[name] ?? '')}`
  return `{"contract":${JSON.stringify(contract)},"intent":{${members}},"key":${JSON.stringify(routingKey)},"version":${version}}`
}
