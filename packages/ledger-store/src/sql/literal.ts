import { idToHex } from '@onceledger/core'

/**
 * SQL literals for the batch statements. A thousand rows in one packet are faster as literals than as bound parameters, and these
 * stay as safe: bytes become hex digits and numbers become digits, so no text of a command ever reaches the SQL parser.
 */

const HEX = /^(?:[0-9a-f]{2})*$/

/** A binary literal from hex digits that this code base made itself. */
export function hexLiteral(hex: string): string {
  return `x'${hex}'`
}

/** A binary literal of text's UTF-8 bytes. */
export function textLiteral(text: string): string {
  return `x'${Buffer.from(text, 'utf8').toString('hex')}'`
}

/** A character string literal: the bytes as utf8mb4 text, for columns that have a character set. */
export function utf8Literal(text: string): string {
  return `_utf8mb4 x'${Buffer.from(text, 'utf8').toString('hex')}'`
}

export function bytesLiteral(bytes: Uint8Array | null): string {
  return bytes === null ? 'NULL' : `x'${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}'`
}

export function idLiteral(id: string): string {
  return `x'${idToHex(id)}'`
}

const CURRENCY = /^[A-Z]{3}$/

export function currencyLiteral(currency: string | null): string {
  if (currency === null) return 'NULL'
  return CURRENCY.test(currency) ? `'${currency}'` : textLiteral(currency)
}

/** Whether a string is safe inside hexLiteral; asserted in tests over everything that reaches it. */
export function isHex(text: string): boolean {
  return HEX.test(text)
}
