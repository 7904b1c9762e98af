import { Bug } from '../errors.ts'

const BEFORE_TOKEN = /[\s,:]*/y
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y
const SCALAR = /[^\s,\]}]+/y

/**
 * Reads a text that JSON.parse has found to be JSON, and decodes each member name by itself. The V8 of Node 24 and 26 may take an escaped name for
 * one that it met before: after `{"am\\u00":1}` it reads `"am\u006funt"` as that name instead of `amount`
 * (https://github.com/nodejs/node/issues/63785). So what a message says would depend on the messages before it. Like JSON.parse it keeps the
 * last of two members. The caller has bounded the depth.
 */
export function readEscapedJson(text: string): unknown {
  return new EscapedJson(text).value()
}

class EscapedJson {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): unknown {
    switch (this.#peek()) {
      case '{':
        return this.#object()
      case '[':
        return this.#list()
      case '"':
        return JSON.parse(this.#take(STRING))
      default:
        return JSON.parse(this.#take(SCALAR))
    }
  }

  #object(): Record<string, unknown> {
    this.#at++
    const members: Record<string, unknown> = {}
    while (this.#peek() !== '}') {
      const name = JSON.parse(this.#take(STRING)) as string
      // A plain assignment to __proto__ would make no member.
      Object.defineProperty(members, name, { value: this.value(), configurable: true, enumerable: true, writable: true })
    }
    this.#at++
    return members
  }

  #list(): unknown[] {
    this.#at++
    const values: unknown[] = []
    while (this.#peek() !== ']') values.push(this.value())
    this.#at++
    return values
  }

  /** The first character of the next token. Commas and colons only part tokens: that they stand right is known. */
  #peek(): string {
    BEFORE_TOKEN.lastIndex = this.#at
    BEFORE_TOKEN.test(this.#text)
    this.#at = BEFORE_TOKEN.lastIndex
    return this.#text.charAt(this.#at)
  }

  #take(token: RegExp): string {
    token.lastIndex = this.#at
    if (!token.test(this.#text)) throw new Bug(`no token at ${this.#at} of a text that JSON.parse took`)
    const taken = this.#text.slice(this.#at, token.lastIndex)
    this.#at = token.lastIndex
    return taken
  }
}
