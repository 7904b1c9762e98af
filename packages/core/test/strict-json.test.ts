import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseStrictJson } from '../src/envelope/strict-json.ts'
import { InvalidCommand } from '../src/errors.ts'

function codeOf(text: string): string | undefined {
  try {
    parseStrictJson(text)
    return undefined
  } catch (error) {
    if (!(error instanceof InvalidCommand)) throw error
    return error.code
  }
}

/** Names and texts full of what a scanner could trip over. */
const tricky = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('', ':', '"', '\\', '\\"', '\\\\', '{"a":1', '}', '[', '__proto__', 'constructor', '\ud800'),
)
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', maxDepth: 6, withCrossShrink: true },
    fc.oneof(tricky, fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(tricky, tie('tree'), { maxKeys: 4 }),
  ),
}))

/** The same name in another spelling: every character as an escape. */
function escaped(name: string): string {
  return name === '' ? '' : Array.from({ length: name.length }, (_, i) => `\\u${name.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
}

describe('strict JSON', () => {
  it('is JSON where no member comes twice', () => {
    fc.assert(
      fc.property(tree, fc.constantFrom(0, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(JSON.stringify(parseStrictJson(text), null, indent)).toBe(text)
      }),
      { numRuns: 2_000 },
    )
  })

  it('[IDN-4] reads an escaped name as what it says, whatever was read before', () => {
    const before = '{"currency":"EUR","am\\\\u00":"7"}'
    const escapedName = '{"currency":"EUR","am\\u006funt":"5"}'
    const twice = '{"currency":"EUR","am\\u006funt":"5","amount":"6"}'
    for (let i = 0; i < 3; i++) {
      expect(parseStrictJson(before)).toEqual({ currency: 'EUR', 'am\\u00': '7' })
      expect(parseStrictJson(escapedName)).toEqual({ currency: 'EUR', amount: '5' })
      expect(codeOf(twice)).toBe('DUPLICATE_MEMBER')
    }
  })

  it('[IDN-6] refuses a member that comes twice, at any depth and in any spelling', () => {
    const wrappings = fc.array(fc.constantFrom('array', 'object'), { maxLength: 10 })
    fc.assert(
      fc.property(tricky, tree, tree, wrappings, fc.boolean(), (name, first, second, around, escape) => {
        const again = escape ? `"${escaped(name)}"` : JSON.stringify(name)
        const twice = `{${JSON.stringify(name)}:${JSON.stringify(first)},"x:":1, ${again} :${JSON.stringify(second)}}`
        const text = around.reduce((inner, kind) => (kind === 'array' ? `[1,${inner}]` : `{"in":${inner}}`), twice)
        expect(['DUPLICATE_MEMBER', 'TOO_DEEP']).toContain(codeOf(text))
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['{"__proto__":1,"__proto__":2}', 'DUPLICATE_MEMBER'],
    ['{"a":[{"b":1},{"b":1}]}', undefined],
    ['{"a":[{"b":1,"b":1}]}', 'DUPLICATE_MEMBER'],
    ['[{"a":1},{"a":1}]', undefined],
    ['{"a":1,"A":1}', undefined],
    ['{"é":1,"e\u0301":1}', undefined],
    ['"a:b"', undefined],
    ['\ufeff{}', 'NOT_JSON'],
    ['{"a":1,}', 'NOT_JSON'],
    ['{"a":1} {"a":2}', 'NOT_JSON'],
    ["{'a':1}", 'NOT_JSON'],
    ['{"a":NaN}', 'NOT_JSON'],
    ['{"a":"', 'NOT_JSON'],
    ['{"a":"\\', 'NOT_JSON'],
    [`${'{"a":'.repeat(16)}1${'}'.repeat(16)}`, undefined],
    [`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`, 'TOO_DEEP'],
    ['['.repeat(60_000), 'TOO_DEEP'],
  ])('%.40s', (text, code) => {
    expect(codeOf(text)).toBe(code)
  })

  it('takes time in proportion to the text, however it is quoted', () => {
    const before = performance.now()
    codeOf(`"${'\\'.repeat(64 * 1024)}`)
    codeOf(`["${'\\"'.repeat(32 * 1024)}`)
    codeOf(`{"a":"${'\\\\'.repeat(32 * 1024)}"}`)
    expect(performance.now() - before).toBeLessThan(1_000)
  })
})
