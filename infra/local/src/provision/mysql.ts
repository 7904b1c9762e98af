import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { StackError } from '../errors.ts'
import { withFileLock } from '../file-lock.ts'
import { findProgram, isExecutable } from '../find-program.ts'
import { runCommand } from '../run-command.ts'
import { isAtLeast } from '../version.ts'
import { type ProvisionContext, PROVISION_LOCK_TIMEOUT_MS } from './context.ts'
import { unpackDebianPackages } from './debian-packages.ts'

const MINIMUM_VERSION = '8.4.0'
const OTHERWISE = `Install MySQL ${MINIMUM_VERSION} or later (9.7 is what the tests run on) and set MYSQLD to its mysqld.`

/** Debian's name of the library folder and of the program loader, by Node's name of the processor. */
const LOADERS: Readonly<Record<string, { triple: string; loader: string }>> = {
  x64: { triple: 'x86_64-linux-gnu', loader: 'ld-linux-x86-64.so.2' },
  arm64: { triple: 'aarch64-linux-gnu', loader: 'ld-linux-aarch64.so.1' },
}

export interface MysqlProgram {
  readonly mysqld: string
  readonly version: string
  /** Lines for `[mysqld]` that a relocated server needs to find its own files. */
  readonly settings: readonly string[]
}

/**
 * Finds mysqld: $MYSQLD, then PATH, then Debian's own server unpacked once into the cache.
 *
 * @throws StackError MISSING_TOOL, PROVISION_FAILED, or BAD_SETTING when $MYSQLD is unfit.
 */
export async function provideMysql(context: ProvisionContext): Promise<MysqlProgram> {
  const named = context.environment['MYSQLD']
  if (named !== undefined && named !== '') {
    const version = await mysqldVersion(named)
    if (version === undefined || !isAtLeast(version, MINIMUM_VERSION)) {
      throw new StackError('BAD_SETTING', `MYSQLD=${named} is not MySQL ${MINIMUM_VERSION} or later`)
    }
    return { mysqld: named, version, settings: [] }
  }
  const onPath = findProgram('mysqld', context.environment, ['/usr/sbin', '/usr/local/sbin'])
  if (onPath !== undefined) {
    const version = await mysqldVersion(onPath)
    if (version !== undefined && isAtLeast(version, MINIMUM_VERSION)) {
      return { mysqld: onPath, version, settings: [] }
    }
    context.onProgress(`mysql: ${onPath} is not MySQL ${MINIMUM_VERSION} or later, leaving it alone`)
  }
  return provisionedMysql(context)
}

async function provisionedMysql(context: ProvisionContext): Promise<MysqlProgram> {
  const prefix = join(context.cacheDir, 'mysql')
  if (!isReady(prefix)) {
    await withFileLock(
      `${prefix}.lock`,
      {
        timeoutMs: PROVISION_LOCK_TIMEOUT_MS,
        signal: context.signal,
        onWait: () => context.onProgress('mysql: waiting for another process that fetches it'),
      },
      async () => {
        if (!isReady(prefix)) {
          await provision(context, prefix)
        }
      },
    )
  }
  const mysqld = join(prefix, 'bin', 'mysqld')
  const version = await mysqldVersion(mysqld)
  if (version === undefined) {
    throw new StackError('PROVISION_FAILED', `${mysqld} does not run. Delete ${prefix} and try again.`)
  }
  return { mysqld, version, settings: relocatedSettings(prefix) }
}

async function provision(context: ProvisionContext, prefix: string): Promise<void> {
  const machine = LOADERS[process.arch]
  if (machine === undefined || process.platform !== 'linux') {
    throw new StackError('MISSING_TOOL', `no MySQL here, and none to unpack for ${process.platform} on ${process.arch}. ${OTHERWISE}`)
  }
  const unpacked = `${prefix}.unpacking`
  rmSync(unpacked, { recursive: true, force: true })
  rmSync(prefix, { recursive: true, force: true })
  await unpackDebianPackages(
    context,
    {
      title: 'mysql',
      packages: ['mysql-server-core', 'mysql-client-core'],
      // The only suite that carries MySQL itself; stable releases carry MariaDB.
      suites: ['sid'],
      exclude: [
        ...['./usr/share/info', './usr/share/lintian', './usr/share/bug', './var/lib/mysql*'],
        ...['./usr/share/perl*', `./usr/lib/${machine.triple}/perl*`, './usr/bin/*perl*'],
        './usr/include',
      ],
      otherwise: OTHERWISE,
    },
    join(unpacked, 'root'),
  )
  mkdirSync(join(unpacked, 'bin'))
  const programs = [join(unpacked, 'root/usr/sbin/mysqld')]
  const clients = join(unpacked, 'root/usr/bin')
  programs.push(
    ...readdirSync(clients)
      .filter((name) => name === 'mysql' || name === 'mysqladmin' || name === 'mysqldump')
      .map((name) => join(clients, name)),
  )
  for (const program of programs.filter(isExecutable)) {
    const wrapper = join(unpacked, 'bin', basename(program))
    writeFileSync(wrapper, wrapperScript(machine, program.slice(unpacked.length + 1)))
    chmodSync(wrapper, 0o755)
  }
  const version = await mysqldVersion(join(unpacked, 'bin', 'mysqld'))
  if (version === undefined || !isAtLeast(version, MINIMUM_VERSION)) {
    throw new StackError(
      'PROVISION_FAILED',
      `the unpacked mysqld does not run on this machine (version ${version ?? 'unknown'}). ${OTHERWISE}`,
    )
  }
  renameSync(unpacked, prefix)
  context.onProgress(`mysql: MySQL ${version} ready`)
}

/** A folder is renamed into place when it is complete, so its mysqld being there means all is. */
function isReady(prefix: string): boolean {
  return existsSync(join(prefix, 'bin', 'mysqld'))
}

/** Runs a program with the loader and libraries it was unpacked with, whatever the machine has. */
function wrapperScript(machine: { triple: string; loader: string }, program: string): string {
  const libraries = [`usr/lib/${machine.triple}`, `lib/${machine.triple}`, 'usr/lib/mysql/private']
  return `#!/bin/sh
H=$(CDPATH= cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." && pwd -P); R=$H/root
exec "$R/usr/lib/${machine.triple}/${machine.loader}" --library-path "${libraries
    .map((path) => `$R/${path}`)
    .join(':')}" "$H/${program}" "$@"
`
}

function relocatedSettings(prefix: string): readonly string[] {
  const usr = join(prefix, 'root', 'usr')
  return [
    `basedir=${usr}`,
    `lc-messages-dir=${usr}/share/mysql`,
    `character-sets-dir=${usr}/share/mysql/charsets`,
    `plugin-dir=${usr}/lib/mysql/plugin`,
  ]
}

async function mysqldVersion(mysqld: string): Promise<string | undefined> {
  try {
    const { stdout } = await runCommand(mysqld, ['--no-defaults', '--version'], { timeoutMs: 30_000 })
    return stdout.includes('MariaDB') ? undefined : /Ver ([0-9][0-9.]*)/.exec(stdout)?.[1]
  } catch (error) {
    if (error instanceof StackError) {
      return undefined
    }
    throw error
  }
}
