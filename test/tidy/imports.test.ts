import { describe, expect, it } from 'vitest'
import { type Import, importsOf, leavesItsPackage, libraryOf, ourPackageOf, packageOf } from './import-graph.ts'
import { sourceFiles } from './source-files.ts'

/** Which of our packages each may import in its sources (docs/design.md, section 9). Cycles between files are oxlint's to find. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'packages/core': [],
  'packages/runtime': [],
  'packages/shard-map': ['core'],
  'packages/command-log': ['core'],
  'packages/ledger-store': ['core', 'shard-map'],
  'packages/testkit': ['core', 'runtime', 'shard-map', 'command-log', 'ledger-store', 'local-stack'],
  'services/shard': ['core', 'runtime', 'shard-map', 'command-log', 'ledger-store'],
  'services/ledgerctl': ['core', 'runtime', 'shard-map', 'command-log', 'ledger-store'],
  'infra/local': [],
}

/** Libraries that one package owns, and the few others that may know them. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  mysql2: ['packages/ledger-store', 'packages/testkit', 'infra/local', 'test'],
  '@platformatic/kafka': ['packages/command-log'],
  kafkajs: ['packages/command-log', 'packages/testkit', 'test'],
  pino: ['packages/runtime'],
  'prom-client': ['packages/runtime'],
}

const imports = importsOf(sourceFiles((path) => /\.m?ts$/.test(path)))
const inSources = imports.filter(({ path }) => /^(packages|services|infra)\/[^/]+\/src\//.test(path))
const show = ({ path, specifier }: Import): string => `${path}: ${specifier}`

describe('imports point one way', () => {
  it('are all seen', () => {
    const text = [
      `import 'a'`,
      `import b from 'b'`,
      `import {\n  type C,\n} from 'c'`,
      `export { d } from 'd'`,
      `const e = await import('e')`,
      `import type { F } from '@x/f/deep'`,
      `export const text = 'from'`,
    ].join('\n')
    const seen = importsOf([{ path: 'x.ts', text }]).map(({ specifier }) => specifier)
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e', '@x/f/deep'])
    expect(seen.map(libraryOf)).toEqual(['a', 'b', 'c', 'd', 'e', '@x/f'])
    expect(inSources.length).toBeGreaterThan(100)
  })

  it.each([...new Set(inSources.map(({ path }) => packageOf(path)))])('%s imports what its place allows', (folder) => {
    expect(Object.keys(ALLOWED), 'a new package needs its line in ALLOWED').toContain(folder)
    const allowed = ALLOWED[folder] ?? []
    const wrong = inSources.filter(({ path, specifier }) => {
      const ours = ourPackageOf(specifier)
      return packageOf(path) === folder && ours !== null && !allowed.includes(ours)
    })
    expect(wrong.map(show)).toEqual([])
  })

  it.each(Object.entries(HOMES))('%s is known only where it belongs', (library, homes) => {
    const wrong = imports.filter(({ path, specifier }) => libraryOf(specifier) === library && !homes.includes(packageOf(path)))
    expect(wrong.map(show)).toEqual([])
  })

  it('never reach into another package, by path or past its index', () => {
    const past = imports.filter(({ specifier }) => ourPackageOf(specifier) !== null && specifier !== libraryOf(specifier))
    expect([...imports.filter(leavesItsPackage), ...past].map(show)).toEqual([])
  })
})
