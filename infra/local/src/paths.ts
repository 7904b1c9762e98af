import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { basename, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

type Environment = Readonly<Record<string, string | undefined>>

/** The root of this clone. */
const REPOSITORY_ROOT = resolve(fileURLToPath(new URL('../../..', import.meta.url)))

/**
 * Where downloads and stacks live: `$XDG_CACHE_HOME/onceledger`, else `~/.cache/onceledger`.
 * A relative XDG_CACHE_HOME is ignored, as the XDG base directory specification asks.
 */
export function cacheFolder(environment: Environment): string {
  const configured = environment['XDG_CACHE_HOME']
  const base = configured !== undefined && isAbsolute(configured) ? configured : join(homedir(), '.cache')
  return join(base, 'onceledger')
}

/** A name for this clone, such as `onceledger-3f2a9c1b`, so that two clones never share a stack. */
export function cloneName(repositoryRoot: string): string {
  const digest = createHash('sha256').update(repositoryRoot).digest('hex').slice(0, 8)
  const readable = basename(repositoryRoot)
    .replace(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, 24)
  return `${readable}-${digest}`
}

/**
 * The folder of a stack: ONCELEDGER_STACK_DIR, else one in the cache named after this clone, with
 * `-<name>` behind it where a caller wants a stack beside the usual one.
 */
export function stackFolder(environment: Environment, name: string | undefined): string {
  const configured = environment['ONCELEDGER_STACK_DIR']
  const suffix = name === undefined ? '' : `-${name}`
  if (configured !== undefined && configured !== '') {
    return `${resolve(configured)}${suffix}`
  }
  return join(cacheFolder(environment), 'stack', `${cloneName(REPOSITORY_ROOT)}${suffix}`)
}
