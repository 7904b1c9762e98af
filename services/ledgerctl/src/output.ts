import { usToIso } from '@onceledger/core'

/** Where results go: one JSON value on stdout, or lines for a person. Progress and errors go to stderr. */
export interface Output {
  readonly json: boolean
  result(value: unknown, lines: () => readonly string[]): void
  /** A line of the answer for a person, as it becomes known; a program gets all at once. */
  line(text: string): void
  note(line: string): void
}

export interface Streams {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean }
}

export function createOutput(json: boolean, streams: Streams): Output {
  return {
    json,
    result(value, lines) {
      streams.stdout.write(
        json
          ? `${toJson(value)}\n`
          : lines()
              .map((line) => `${printable(line)}\n`)
              .join(''),
      )
    },
    line(text) {
      if (!json) streams.stdout.write(`${printable(text)}\n`)
    },
    note: (line) => void streams.stderr.write(`${printable(line)}\n`),
  }
}

/** Control characters, and those that turn the direction of the text after them. */
const UNPRINTABLE = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Keys and refused messages hold whatever their senders put there, and must not steer the terminal of the one who looks. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** JSON has no bigint: money, offsets and versions are strings (IDN-5). Bytes are base64. */
export function toJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_name, member: unknown) => {
      if (typeof member === 'bigint') return member.toString()
      if (member instanceof Map) return Object.fromEntries(member)
      return member
    },
    2,
  )
}

/** Columns wide enough for their cells, the first row being the heading. */
export function toTable(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** RFC 3339 with microseconds: a time that is shown can be asked for again, and means the same row. */
export function timeOfUs(us: bigint): string {
  return usToIso(us)
}
