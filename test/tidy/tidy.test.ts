import { existsSync, readdirSync, readFileSync } from 'node:fs'
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
    expect(findings(typescript, /\b(it|test|describe)\.(skip|only|todo)\b/)).toEqual([])
  })

  it('exports by name only', () => {
    expect(findings(production, /^export \*/)).toEqual([])
  })

  it('keeps SQL in the ledger store', () => {
    const others = production.filter(
      ({ path }) => !path.startsWith('packages/ledger-store/') && !path.startsWith('packages/testkit/') && !path.startsWith('infra/'),
    )
    expect(findings(others, /['"`]\s*(SELECT .* FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b/)).toEqual([])
  })

  it('names every package in a README and says what is public', () => {
    const packages = readdirSync('packages').map((name) => `packages/${name}`)
    expect(
      packages
        .flatMap((path) => ['README.md', 'src/index.ts', 'src/errors.ts'].map((file) => `${path}/${file}`))
        .filter((file) => !existsSync(file)),
    ).toEqual([])
  })
})

/** Imports point one way (docs/design.md, section 9). pnpm lets a package import only what its package.json names. */
const MAY_DEPEND_ON: Readonly<Record<string, readonly string[]>> = {
  'packages/core': [],
  'packages/runtime': [],
  'packages/shard-map': ['core'],
  'packages/command-log': ['core'],
  'packages/ledger-store': ['core', 'shard-map'],
}
const SERVICES_MAY = ['core', 'runtime', 'shard-map', 'command-log', 'ledger-store']
const LIBRARY_HOMES: Readonly<Record<string, readonly string[]>> = {
  mysql2: ['packages/ledger-store', 'packages/testkit', 'infra/local', 'test'],
  kafkajs: ['packages/command-log', 'packages/testkit', 'infra/local', 'test'],
}

describe('imports point one way', () => {
  const folders = ['packages', 'services'].flatMap((group) => readdirSync(group).map((name) => `${group}/${name}`))
  const dependenciesOf = (folder: string): string[] => {
    const manifest = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { dependencies?: Record<string, string> }
    return Object.keys(manifest.dependencies ?? {})
  }

  it.each(folders.filter((folder) => folder !== 'packages/testkit'))('%s depends on what its place allows', (folder) => {
    const ours = dependenciesOf(folder).flatMap((name) => (name.startsWith('@onceledger/') ? [name.slice('@onceledger/'.length)] : []))
    const allowed = folder.startsWith('services/') ? SERVICES_MAY : (MAY_DEPEND_ON[folder] ?? [])
    expect(ours.filter((name) => !allowed.includes(name))).toEqual([])
  })

  it.each(Object.entries(LIBRARY_HOMES))('%s is known only where it belongs', (library, homes) => {
    const users = [...folders, 'infra/local', 'demo', 'test'].filter(
      (folder) => existsSync(`${folder}/package.json`) && dependenciesOf(folder).includes(library),
    )
    expect(users.filter((folder) => !homes.includes(folder))).toEqual([])
  })

  it('no package reaches into another by path', () => {
    expect(findings(production, /from '(\.\.\/)+(packages|services|infra|demo|test)\//)).toEqual([])
  })
})
