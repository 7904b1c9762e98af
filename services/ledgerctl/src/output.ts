/** Where results go: one JSON value on stdout, or lines for a person. Progress and errors go to stderr. */
export interface Output {
  readonly json: boolean
  result(value: unknown, lines: () => readonly string[]): void
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
              .map((line) => `${line}\n`)
              .join(''),
      )
    },
    note: (line) => void streams.stderr.write(`${line}\n`),
  }
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

export function timeOfUs(us: bigint): string {
  return new Date(Number(us / 1000n)).toISOString()
}
