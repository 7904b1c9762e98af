import { InvalidCommand } from '../errors.ts'
import type { SourceRecord } from '../record.ts'
import { parseStrictJson } from './strict-json.ts'

/** The largest value that is decoded. A command is a few hundred bytes. */
const VALUE_BYTES_MAX = 64 * 1024
const STRUCTURED = 'application/cloudevents+json'
const STRUCTURED_BYTES = Buffer.from(STRUCTURED)
const CE_PREFIX = 'ce_'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** What both modes of the Kafka protocol binding for CloudEvents come to: attributes, and data as JSON. */
export interface EventParts {
  readonly attributes: unknown
  readonly data: unknown
}

/**
 * Reads structured mode (the whole event in the value) or binary mode (attributes in `ce_` headers, data in the value).
 * @throws InvalidCommand `EMPTY_VALUE`, `TOO_LARGE`, `NOT_UTF8`, `NOT_CLOUDEVENT`, `DUPLICATE_HEADER`, `DATA_NOT_JSON` and those of strict JSON.
 */
export function readEvent(record: SourceRecord): EventParts {
  const { value } = record
  if (value === null || value.byteLength === 0) throw new InvalidCommand('EMPTY_VALUE', 'the message has no value')
  if (value.byteLength > VALUE_BYTES_MAX)
    throw new InvalidCommand('TOO_LARGE', `the value has ${value.byteLength} bytes, at most ${VALUE_BYTES_MAX} are read`)
  if (isPlainlyStructured(record.headers)) return readStructured(decodeUtf8(value, 'the value'))
  const headers = readHeaders(record.headers)
  const contentType = mediaTypeOf(headers.get('content-type'))
  if (contentType === STRUCTURED) return readStructured(decodeUtf8(value, 'the value'))
  if (headers.has('ce_specversion')) return readBinary(headers, contentType, decodeUtf8(value, 'the value'))
  throw new InvalidCommand(
    'NOT_CLOUDEVENT',
    `neither a content-type header of ${STRUCTURED} nor a ce_specversion header: send a CloudEvent`,
  )
}

/** What nearly every message looks like: the one header, in its plain spelling. */
function isPlainlyStructured(headers: SourceRecord['headers']): boolean {
  const [first] = headers
  return headers.length === 1 && first !== undefined && first[0] === 'content-type' && STRUCTURED_BYTES.equals(first[1])
}

function readStructured(text: string): EventParts {
  const event = parseStrictJson(text)
  if (typeof event !== 'object' || event === null || Array.isArray(event))
    throw new InvalidCommand('ENVELOPE_INVALID', 'the value must be a JSON object')
  const { data, data_base64: base64, datacontenttype } = event as Record<string, unknown>
  if (base64 !== undefined) throw new InvalidCommand('DATA_NOT_JSON', 'data_base64 is refused: send data as JSON')
  if (datacontenttype !== undefined && typeof datacontenttype !== 'string')
    throw new InvalidCommand('ENVELOPE_INVALID', 'attribute datacontenttype: must be a string')
  requireJson(mediaTypeOf(datacontenttype))
  return { attributes: event, data }
}

function readBinary(headers: ReadonlyMap<string, string>, contentType: string | undefined, text: string): EventParts {
  requireJson(contentType)
  const attributes: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of headers) if (name.startsWith(CE_PREFIX)) attributes[name.slice(CE_PREFIX.length)] = value
  return { attributes: { ...attributes }, data: parseStrictJson(text) }
}

/**
 * Only the headers that CloudEvents defines are decoded; what others carry is none of our business. An empty one counts as absent: SDKs write
 * attributes that are not set so, and no attribute may be empty.
 */
function readHeaders(raw: SourceRecord['headers']): Map<string, string> {
  const headers = new Map<string, string>()
  for (const [name, value] of raw) {
    const known = name.toLowerCase()
    if (value.byteLength === 0 || (known !== 'content-type' && !known.startsWith(CE_PREFIX))) continue
    if (headers.has(known)) throw new InvalidCommand('DUPLICATE_HEADER', `header ${known} is given twice`)
    headers.set(known, decodeUtf8(value, `header ${known}`))
  }
  return headers
}

function mediaTypeOf(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase()
}

function requireJson(mediaType: string | undefined): void {
  if (mediaType === undefined || mediaType === 'application/json' || mediaType.endsWith('+json')) return
  throw new InvalidCommand('DATA_NOT_JSON', `data must be application/json, not ${mediaType.slice(0, 100)}`)
}

function decodeUtf8(bytes: Uint8Array, what: string): string {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new InvalidCommand('NOT_UTF8', `${what} is not valid UTF-8`)
  }
}
