import type { SourceRecord } from '@onceledger/core'

/** Header names may repeat and their values are bytes: a JSON list of pairs, values in base64. */
export function headersText(headers: SourceRecord['headers']): string {
  return JSON.stringify(headers.map(([name, value]) => [name, Buffer.from(value).toString('base64')]))
}

/** As `headersText` wrote them. */
export function parseHeaders(stored: Buffer): SourceRecord['headers'] {
  const pairs = JSON.parse(stored.toString('utf8')) as readonly (readonly [string, string])[]
  return pairs.map(([name, value]) => [name, Buffer.from(value, 'base64')] as const)
}
