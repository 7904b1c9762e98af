import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sourceFiles } from './source-files.ts'

const LINES_MAX = 350
const typescript = sourceFiles((path) => path.endsWith('.ts'))
const production = typescript.filter(({ path }) => /^(packages|services|infra|demo)\/.*src\//.test(path))

function findings(files: readonly { path: string; text: string }[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : [])),
  )
}

describe('the house is in order', () => {
  it('keeps every source file to one idea', () => {
    expect(production.flatMap(({ path, text }) => (text.split('\n').length > LINES_MAX ? [path] : []))).toEqual([])
  })

  it('neither silences the type checker nor leaves work undone in the sources', () => {
    expect(
      findings(typescript, new RegExp(['@ts-(ignore|expect-error|nocheck)', `\\b${'TO'}${'DO'}\\b`, `\\b${'FIX'}${'ME'}\\b`].join('|'))),
    ).toEqual([])
  })

  it('skips and focuses no test', () => {
    expect(findings(typescript, /\b(it|test|describe)\.(\w+\.)?(skip|only|todo|fails|skipIf|runIf)\b/)).toEqual([])
  })

  it('exports by name only', () => {
    expect(findings(production, /^export \*/)).toEqual([])
  })

  it('keeps SQL in the ledger store', () => {
    const statement = /['"`]\s*(?:SELECT|INSERT|REPLACE INTO|UPDATE|DELETE|CREATE|ALTER|DROP|START TRANSACTION)\s[^'"`]*/g
    const elsewhere = production.filter(({ path }) => !/^(packages\/(ledger-store|testkit)|infra)\//.test(path))
    expect(elsewhere.flatMap(({ path, text }) => (text.match(statement) ?? []).map((sql) => `${path}: ${sql}`))).toEqual([])
  })

  it('names every package in a README and says what is public', () => {
    const wanted = [
      ...readdirSync('packages').flatMap((name) =>
        ['README.md', 'src/index.ts', 'src/errors.ts'].map((file) => `packages/${name}/${file}`),
      ),
      ...readdirSync('services').flatMap((name) => ['README.md', 'src/main.ts'].map((file) => `services/${name}/${file}`)),
      'infra/local/README.md',
    ]
    expect(wanted.filter((file) => !existsSync(file))).toEqual([])
  })
})
