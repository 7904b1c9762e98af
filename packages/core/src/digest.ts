import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { Bug } from './errors.ts'

/** The fields that make up an intent, by name, as strings (IDN-4). */
export type Intent = Readonly<Record<string, string>>

/**
 * SHA-256 over the RFC 8785 encoding of the contract's name, its version, whose account it is, and the intent's fields. Neither the
 * order of members nor anything outside the contract can change it; the version is part of it, so versions are never confused.
 * @returns 64 hex digits.
 */
export function intentDigest(contract: string, version: number, routingKey: string, intent: Intent): string {
  const encoded = canonicalize({ contract, version, key: routingKey, intent })
  if (encoded === undefined) throw new Bug('an intent has no canonical encoding')
  return createHash('sha256').update(encoded).digest('hex')
}
