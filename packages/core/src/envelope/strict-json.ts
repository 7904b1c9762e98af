import { InvalidCommand } from '../errors.ts'
import { readEscapedJson } from './escaped-json.ts'

const DEPTH_MAX = 16

/**
 * Parses JSON and refuses what JSON.parse would silently take: duplicate members (it keeps the last). Every member has exactly one colon
 * outside of strings, so a text with more colons than the parsed tree has members held a duplicate.
 * @throws InvalidCommand `NOT_JSON`, `DUPLICATE_MEMBER`, `TOO_DEEP`
 */
export function parseStrictJson(text: string): unknown {
  const colons = countColonsOutsideStrings(text)
  let value: unknown
  try {
    value = JSON.parse(text)
    if (text.includes('\\')) value = readEscapedJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error
    throw new InvalidCommand('NOT_JSON', `the value is not JSON: ${error.message}`)
  }
  if (countMembers(value, 0) !== colons)
    throw new InvalidCommand('DUPLICATE_MEMBER', 'an object names the same member twice; send each member once')
  return value
}

/** Depth is bounded here, before JSON.parse could recurse. @throws InvalidCommand `TOO_DEEP` */
function countColonsOutsideStrings(text: string): number {
  let colons = 0
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22:
        i = endOfString(text, i)
        break
      case 0x3a:
        colons++
        break
      case 0x7b:
      case 0x5b:
        if (++depth > DEPTH_MAX) throw new InvalidCommand('TOO_DEEP', `JSON nested deeper than ${DEPTH_MAX} levels is refused`)
        break
      case 0x7d:
      case 0x5d:
        depth--
        break
      default:
    }
  }
  return colons
}

/** Index of the closing quote of the string that opens at `start`; the end of the text where there is none. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end < 0 ? text.length : end
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++
  return backslashes % 2 === 1
}

function countMembers(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const child of value) members += countMembers(child, depth + 1)
    return members
  }
  // Own members only, since JSON.parse makes plain objects; no list of them is built for each message.
  for (const name in value) {
    members++
    const child = (value as Record<string, unknown>)[name]
    if (typeof child === 'object') members += countMembers(child, depth + 1)
  }
  return members
}
