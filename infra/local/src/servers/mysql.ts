import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StackError } from '../errors.ts'
import type { MysqlProgram } from '../provision/mysql.ts'
import { type CommandControl, runCommand, tailOf } from '../run-command.ts'
import type { ProcessIdentity } from '../server-process.ts'
import { findMysqlProblem } from './mysql-health.ts'
import type { Server } from './server.ts'

const USER = 'onceledger'
const PASSWORD = 'onceledger'
const DATABASE = 'onceledger'
const INITIALISE_TIMEOUT_MS = 3 * 60_000

export interface MysqlServerOptions {
  readonly service: 'mysql-0' | 'mysql-1'
  readonly stackDir: string
  readonly port: number
  readonly program: MysqlProgram
}

export function mysqlUrl(port: number): string {
  return `mysql://${USER}:${PASSWORD}@127.0.0.1:${port}/${DATABASE}`
}

export function mysqlIdentity(stackDir: string, service: 'mysql-0' | 'mysql-1'): ProcessIdentity {
  const dir = join(stackDir, service)
  return { pidFile: join(dir, 'pid'), marker: `--datadir=${join(dir, 'data')}` }
}

export function mysqlServer(options: MysqlServerOptions): Server {
  const dir = join(options.stackDir, options.service)
  const configPath = join(dir, 'my.cnf')
  const identity = mysqlIdentity(options.stackDir, options.service)
  return {
    service: options.service,
    stopGraceMs: 60_000,
    command: {
      file: options.program.mysqld,
      args: [`--defaults-file=${configPath}`, identity.marker],
      env: {},
      logFile: join(dir, 'server.log'),
      ...identity,
    },
    prepare: async (control) => {
      mkdirSync(dir, { recursive: true })
      writeFileSync(configPath, mysqlConfiguration(options, isRoot()))
      await initialise(options.program.mysqld, dir, control)
    },
    findProblem: () => findMysqlProblem(mysqlUrl(options.port)),
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Full durability at every commit: a shard promises that what it answered is on the disk. */
export function mysqlConfiguration(options: MysqlServerOptions, asRoot: boolean): string {
  return [
    '[mysqld]',
    ...options.program.settings,
    ...(asRoot ? ['user=root'] : []),
    `port=${options.port}`,
    'bind-address=127.0.0.1',
    'skip-name-resolve=ON',
    // Relative to the data folder: a full path might pass the 107 characters of a socket name.
    'socket=mysqld.sock',
    'pid-file=mysqld.pid',
    'mysqlx=OFF',
    'secure-file-priv=NULL',
    `server-id=${options.service === 'mysql-0' ? 1 : 2}`,
    'log-bin=binlog',
    'binlog-row-image=minimal',
    'sync-binlog=1',
    'binlog-expire-logs-seconds=86400',
    'innodb-flush-log-at-trx-commit=1',
    'innodb-buffer-pool-size=256M',
    'innodb-redo-log-capacity=128M',
    'transaction-isolation=READ-COMMITTED',
    'character-set-server=utf8mb4',
    'default-time-zone=+00:00',
    'max-connections=200',
    'max-allowed-packet=64M',
    '',
  ].join('\n')
}

async function initialise(mysqld: string, dir: string, control: CommandControl): Promise<void> {
  const dataDir = join(dir, 'data')
  const donePath = join(dir, 'initialised')
  if (existsSync(donePath)) {
    return
  }
  // Half of one, from an initialisation that was interrupted.
  rmSync(dataDir, { recursive: true, force: true })
  const sqlPath = join(dir, 'init.sql')
  writeFileSync(
    sqlPath,
    [
      `CREATE DATABASE ${DATABASE};`,
      `CREATE USER '${USER}'@'%' IDENTIFIED BY '${PASSWORD}';`,
      `GRANT ALL PRIVILEGES ON *.* TO '${USER}'@'%' WITH GRANT OPTION;`,
      '',
    ].join('\n'),
  )
  const { stderr } = await runCommand(
    mysqld,
    [...[`--defaults-file=${join(dir, 'my.cnf')}`, `--datadir=${dataDir}`], ...['--initialize-insecure', `--init-file=${sqlPath}`]],
    { timeoutMs: INITIALISE_TIMEOUT_MS, control, cwd: dir },
  )
  writeFileSync(join(dir, 'initialise.log'), stderr)
  if (stderr.includes('[ERROR]')) {
    throw new StackError('START_FAILED', `mysqld could not make its data:\n${tailOf(stderr, 12)}`)
  }
  writeFileSync(donePath, readFileSync(sqlPath))
}
