import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { isGiven, readGivenEndpoints } from './endpoints.ts'
import { StackError } from './errors.ts'
import { checkGiven } from './given-health.ts'
import { type Guardian, startGuardian, waitForOtherGuardian } from './guardian.ts'
import { endpointsOf, provideServers, settlePorts } from './local-servers.ts'
import { cacheFolder, stackFolder } from './paths.ts'
import type { ProvisionContext } from './provision/context.ts'
import { RunningStack, type Stack } from './running-stack.ts'
import type { Server } from './servers/server.ts'
import { kindOf, SERVICE_NAMES, type ServiceKind, type ServiceName } from './service-names.ts'
import { withStackLock } from './stack-lock.ts'
import { startServer } from './start-server.ts'
import type { StackState } from './state-file.ts'
import { endServices } from './stop-stack.ts'

export interface StartStackOptions {
  /** A stack beside the usual one of this clone: its folder gets this name as a suffix. */
  readonly name?: string
  /** The stack's folder, instead of the one derived from the clone and `name`. */
  readonly dir?: string
  /** true: the servers end when this process is gone, even by SIGKILL. false: they stay. */
  readonly attached: boolean
  /** All of them by default. */
  readonly services?: readonly ServiceName[]
  readonly onProgress: (line: string) => void
  readonly signal?: AbortSignal
  /** process.env by default. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/**
 * Starts the servers that are not given by the environment and not running yet, all kinds at once,
 * and returns when each has answered a real request. When one fails, those that were started are
 * stopped again.
 *
 * @throws StackError, with plain words for a person.
 */
export async function startStack(options: StartStackOptions): Promise<Stack> {
  const environment = options.environment ?? process.env
  const given = readGivenEndpoints(environment)
  const wanted = options.services ?? SERVICE_NAMES
  const own = wanted.filter((service) => !isGiven(given, kindOf(service)))
  const dir = resolve(options.dir ?? stackFolder(environment, options.name))
  await checkGiven(given, wanted)
  const { onProgress, signal } = options
  if (own.length === 0) {
    return new RunningStack({ dir, endpoints: given, servers: new Map(), started: new Set(), onProgress })
  }
  const cacheDir = cacheFolder(environment)
  mkdirSync(cacheDir, { recursive: true })
  mkdirSync(dir, { recursive: true })
  return withStackLock(dir, options, async () => {
    await waitForOtherGuardian(dir, signal)
    const { ports } = await settlePorts(dir)
    const guardian = startGuardian(dir)
    const context = { cacheDir, environment, onProgress, signal, watch: guardian }
    const started = new Set<ServiceName>()
    const servers = await startAll({ context, own, dir, ports, guardian, started })
    // Servers that ran before us are not ours to end, so they need no guardian.
    const isGuarded = options.attached && started.size > 0
    if (!isGuarded) {
      await guardian.release()
    }
    return new RunningStack({
      dir,
      endpoints: endpointsOf(own, ports, given),
      servers,
      started,
      guardian: isGuarded ? guardian : undefined,
      onProgress,
    })
  })
}

interface StartPlan {
  readonly context: ProvisionContext
  readonly own: readonly ServiceName[]
  readonly dir: string
  readonly ports: StackState['ports']
  readonly guardian: Guardian
  /** Filled while servers are launched. */
  readonly started: Set<ServiceName>
}

/** Starts all kinds at once. When one fails the others are given up and everything started is ended. */
async function startAll(plan: StartPlan): Promise<ReadonlyMap<ServiceName, Server>> {
  const failed = new AbortController()
  const outer = plan.context.signal
  const signal = outer === undefined ? failed.signal : AbortSignal.any([failed.signal, outer])
  const context = { ...plan.context, signal }
  const kinds = [...new Set(plan.own.map(kindOf))]
  try {
    const servers = await allOrFault(
      kinds.map((kind) =>
        startKind({ ...plan, context }, kind).catch((error: unknown) => {
          failed.abort()
          throw error
        }),
      ),
    )
    return new Map(servers.flat().map((server) => [server.service, server]))
  } catch (error) {
    await endServices(plan.dir, [...plan.started], 0)
    await plan.guardian.release()
    throw error
  }
}

async function startKind(plan: StartPlan, kind: ServiceKind): Promise<readonly Server[]> {
  const servers = await provideServers(plan.context, kind, plan.own, plan.dir, plan.ports)
  const starts = servers.map((server) =>
    startServer(server, {
      onProgress: plan.context.onProgress,
      control: plan.context,
      onLaunch: (identity) => {
        plan.started.add(server.service)
        plan.guardian.guard(identity)
      },
    }),
  )
  await allOrFault(starts)
  return servers
}

/** Waits for every promise, even when one fails, and then throws the fault that made the others stop. */
async function allOrFault<T>(promises: readonly Promise<T>[]): Promise<readonly T[]> {
  const outcomes = await Promise.allSettled(promises)
  const faults = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
  if (faults.length > 0) {
    throw faults.find((fault) => !isInterruption(fault)) ?? faults[0]
  }
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
}

function isInterruption(error: unknown): boolean {
  return error instanceof StackError && error.code === 'INTERRUPTED'
}
