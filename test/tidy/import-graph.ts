import { posix } from 'node:path'
import type { SourceFile } from './source-files.ts'

export interface Import {
  readonly path: string
  readonly specifier: string
}

/** Static, dynamic and side-effect imports and re-exports, types included. Sources are formatted, so a statement begins its line. */
const IMPORT = /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm
const OURS = '@onceledger/'

export function importsOf(files: readonly SourceFile[]): Import[] {
  return files.flatMap(({ path, text }) =>
    Array.from(text.matchAll(IMPORT), ([, from, dynamic]) => ({ path, specifier: from ?? dynamic ?? '' })),
  )
}

/** `packages/core` of `packages/core/src/money.ts`; the first folder alone where there are no packages below it. */
export function packageOf(path: string): string {
  const [group = '', name = ''] = path.split('/')
  return ['packages', 'services', 'infra'].includes(group) ? `${group}/${name}` : group
}

/** A relative import that leaves its package: it goes round what the other package calls public. */
export function leavesItsPackage({ path, specifier }: Import): boolean {
  if (!specifier.startsWith('.')) return false
  return packageOf(posix.join(posix.dirname(path), specifier)) !== packageOf(path)
}

/** `core` of `@onceledger/core`, `mysql2` of `mysql2/promise`, null of a relative import or a builtin. */
export function libraryOf(specifier: string): string | null {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return null
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? null)
}

/** `core` of `@onceledger/core`; null of what is not ours. */
export function ourPackageOf(specifier: string): string | null {
  return specifier.startsWith(OURS) ? (specifier.slice(OURS.length).split('/')[0] ?? null) : null
}
