import { existsSync } from 'node:fs'
import { environmentOf, isGiven, readGivenEndpoints, shellExports } from './endpoints.ts'
import { StackError } from './errors.ts'
import { findGivenProblems } from './given-health.ts'
import { endpointsOf, identityOf, logFileOf } from './local-servers.ts'
import { endProcess, findRunning } from './server-process.ts'
import { kindOf, SERVICE_NAMES, type ServiceName } from './service-names.ts'
import { startStack } from './stack.ts'
import { withStackLock } from './stack-lock.ts'
import { readTail } from './start-server.ts'
import { readState } from './state-file.ts'
import { STOP_GRACE_MS, stopStackAt } from './stop-stack.ts'

export interface CommandContext {
  readonly dir: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  readonly print: (text: string) => void
  readonly onProgress: (line: string) => void
}

const LOG_TAIL_BYTES = 8_192

interface StatusLine {
  readonly service: string
  readonly state: 'up' | 'down' | 'sick'
  readonly address: string
  readonly pid?: number
  readonly problem?: string
}

/** The stack's commands; each returns the exit code. */
export function commands(context: CommandContext) {
  return {
    up: () => up(context),
    down: (wipe: boolean) => down(context, wipe),
    status: (asJson: boolean) => status(context, asJson),
    env: (asJson: boolean) => env(context, asJson),
    logs: (services: readonly ServiceName[]) => logs(context, services),
    kill: (service: ServiceName) => kill(context, service),
    restart: (service: ServiceName) => restart(context, service),
  }
}

async function up(context: CommandContext): Promise<number> {
  const startedAtMs = performance.now()
  const given = readGivenEndpoints(context.environment)
  await startStack({ ...context, attached: false })
  const own = SERVICE_NAMES.filter((service) => !isGiven(given, kindOf(service)))
  if (own.length === 0) {
    context.onProgress('MySQL, Kafka and S3 are given by the environment and answer; nothing was started')
    return 0
  }
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1)
  context.onProgress(`${own.join(', ')} up (${seconds} s), data in ${context.dir}`)
  return 0
}

async function down(context: CommandContext, wipe: boolean): Promise<number> {
  const ended = await withStackLock(context.dir, context, () => stopStackAt(context.dir, wipe))
  context.onProgress(ended.length === 0 ? 'nothing was running' : `${ended.join(', ')} stopped`)
  if (wipe) {
    context.onProgress(`${context.dir} deleted`)
  }
  return 0
}

async function status(context: CommandContext, asJson: boolean): Promise<number> {
  const lines = await statusLines(context)
  if (asJson) {
    context.print(`${JSON.stringify({ dir: context.dir, services: lines }, null, 2)}\n`)
  } else {
    for (const line of lines) {
      const pid = line.pid === undefined ? '' : `pid ${line.pid}`
      context.print(
        `${`${line.service.padEnd(15)}${line.state.padEnd(6)}${line.address.padEnd(26)}${pid} ${line.problem ?? ''}`.trimEnd()}\n`,
      )
    }
  }
  return lines.every((line) => line.state === 'up') ? 0 : 1
}

async function statusLines(context: CommandContext): Promise<readonly StatusLine[]> {
  const given = readGivenEndpoints(context.environment)
  const fromOutside = (await findGivenProblems(given)).map(
    (health): StatusLine => ({
      service: `${health.kind} (given)`,
      address: health.address,
      state: health.problem === undefined ? 'up' : 'sick',
      ...(health.problem === undefined ? {} : { problem: health.problem }),
    }),
  )
  const own = SERVICE_NAMES.filter((service) => !isGiven(given, kindOf(service)))
  return [...fromOutside, ...(await Promise.all(own.map((name) => ownStatus(context.dir, name))))]
}

async function ownStatus(dir: string, service: ServiceName): Promise<StatusLine> {
  const state = readState(dir)
  const pid = findRunning(identityOf(dir, service))
  if (state === undefined || pid === undefined) {
    return { service, state: 'down', address: '' }
  }
  const nothingGiven = { mysqlUrls: [], kafkaBrokers: [], s3: undefined }
  const [health] = await findGivenProblems(endpointsOf([service], state.ports, nothingGiven))
  const address = health?.address ?? ''
  return health?.problem === undefined
    ? { service, state: 'up', address, pid }
    : { service, state: 'sick', address, pid, problem: health.problem }
}

async function env(context: CommandContext, asJson: boolean): Promise<number> {
  const given = readGivenEndpoints(context.environment)
  const own = SERVICE_NAMES.filter((service) => !isGiven(given, kindOf(service)))
  const state = readState(context.dir)
  if (state === undefined && own.length > 0) {
    throw new StackError('NOT_CREATED', 'there is no stack yet: run `pnpm stack up` first')
  }
  const endpoints = state === undefined ? given : endpointsOf(own, state.ports, given)
  const variables = environmentOf(endpoints)
  context.print(asJson ? `${JSON.stringify(variables, null, 2)}\n` : shellExports(variables))
  const isDown = own.some((service) => findRunning(identityOf(context.dir, service)) === undefined)
  if (isDown) {
    context.onProgress('note: not every server is running; `pnpm stack up` starts them')
  }
  return 0
}

async function logs(context: CommandContext, services: readonly ServiceName[]): Promise<number> {
  for (const service of services) {
    const path = logFileOf(context.dir, service)
    if (existsSync(path)) {
      context.print(`== ${path}\n${readTail(path, LOG_TAIL_BYTES)}\n`)
    }
  }
  return 0
}

async function kill(context: CommandContext, service: ServiceName): Promise<number> {
  await withStackLock(context.dir, context, () => endProcess(identityOf(context.dir, service), 0))
  context.onProgress(`${service} killed`)
  return 0
}

async function restart(context: CommandContext, service: ServiceName): Promise<number> {
  if (isGiven(readGivenEndpoints(context.environment), kindOf(service))) {
    throw new StackError('NOT_OURS', `${service} is given by the environment, so it is not ours`)
  }
  await withStackLock(context.dir, context, () => endProcess(identityOf(context.dir, service), STOP_GRACE_MS))
  await startStack({ ...context, attached: false, services: [service] })
  return 0
}
