import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { MONEY_CONTRACTS } from '../src/index.ts'

const doc = readFileSync(new URL('../../../docs/commands.md', import.meta.url), 'utf8')
const sources = new URL('../src/', import.meta.url)

function refusalCodes(): string[] {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const text = files.map((name) => readFileSync(new URL(name, sources), 'utf8')).join('\n')
  return Array.from(text.matchAll(/new (?:InvalidCommand|CorruptData)\(\s*'([A-Z_0-9]+)'/g), ([, code = '']) => code)
}

describe('docs/commands.md', () => {
  it('tells a producer about every code with which a message is refused', () => {
    const codes = refusalCodes()
    expect(codes.length).toBeGreaterThan(20)
    expect(codes.filter((code) => !doc.includes(code))).toEqual([])
  })

  it.each(MONEY_CONTRACTS.map((contract) => [`${contract.name}.v${contract.version}`, contract] as const))(
    'has the fields and refusals of %s',
    (name, contract) => {
      const row = doc.split('\n').find((line) => line.startsWith(`| \`${name}\``)) ?? ''
      for (const field of Object.keys(contract.data.shape)) expect(row).toContain(`\`${field}\``)
      for (const reason of Object.keys(contract.rejections)) expect(doc).toContain(reason)
    },
  )
})
