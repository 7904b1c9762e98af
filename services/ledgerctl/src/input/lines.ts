/** A line of a file as bytes, without its line end. */
export interface Line {
  /** Counted from 1. */
  readonly no: number
  /** null where the line is longer than the bound; its bytes are not kept. */
  readonly bytes: Buffer | null
  /** Bytes of the input up to and with this line. */
  readonly endBytes: number
}

const NEWLINE = 0x0a
const RETURN = 0x0d

/**
 * Splits at LF and CR LF, in bytes: a reader of text would end lines at U+2028 inside of a JSON string too, and replace what is not UTF-8 by
 * something that is. Holds one line at most, and of one that is too long nothing.
 */
export async function* readLines(chunks: AsyncIterable<Buffer>, lineBytesMax: number): AsyncGenerator<Line> {
  let no = 0
  let endBytes = 0
  let parts: Buffer[] = []
  let sizeBytes = 0
  const add = (part: Buffer): void => {
    sizeBytes += part.byteLength
    if (sizeBytes <= lineBytesMax) parts.push(part)
    else parts = []
  }
  const take = (): Line => {
    const line = { no: ++no, endBytes, bytes: sizeBytes > lineBytesMax ? null : withoutReturn(joined(parts)) }
    parts = []
    sizeBytes = 0
    return line
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at))
      endBytes += at + 1 - from
      from = at + 1
      yield take()
    }
    add(chunk.subarray(from))
    endBytes += chunk.byteLength - from
  }
  if (sizeBytes > 0) yield take()
}

/** Most lines lie in one chunk: no copy then. */
function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === RETURN ? line.subarray(0, -1) : line
}

const WHITE_SPACE = new Set([0x20, 0x09, RETURN])

export function isBlank(line: Buffer): boolean {
  return line.every((byte) => WHITE_SPACE.has(byte))
}
