import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { isGiven, readGivenEndpoints } from './endpoints.ts';
import { StackError } from './errors.ts';
import { checkGiven } from './given-health.ts';
import { type Guardian, startGuardian, waitForOtherGuardian } from './guardian.ts';
import { endpointsOf, provideServers, settlePorts } from './local-servers.ts';
import { cacheFolder, stackFolder } from './paths.ts';
import type { ProvisionContext } from './provision/context.ts';
import { RunningStack, type Stack } from './running-stack.ts';
import type { ProcessIdentity } from './server-process.ts';
import type { Server } from './servers/server.ts';
import { kindOf, SERVICE_NAMES, type ServiceName } from './service-names.ts';
import { withStackLock } from './stack-lock.ts';
import { startServer } from './start-server.ts';
import type { StackState } from './state-file.ts';
import { endServices } from './stop-stack.ts';

export interface StartStackOptions {
  /** A stack beside the usual one of this clone: its folder gets this name as a suffix. */
  readonly name?: string;
  /** The stack's folder, instead of the one derived from the clone and `name`. */
  readonly dir?: string;
  /** true: the servers end when this process is gone, even by SIGKILL. false: they stay. */
  readonly attached: boolean;
  /** All of them by default. */
  readonly services?: readonly ServiceName[];
  readonly onProgress: (line: string) => void;
  readonly signal?: AbortSignal;
  /** process.env by default. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Starts the servers that are not given by the environment and not running yet, all kinds at once,
 * and returns when each has answered a real request. When one fails, those that were started are
 * stopped again.
 *
 * @throws StackError, with plain words for a person.
 */
export async function startStack(options: StartStackOptions): Promise<Stack> {
  const environment = options.environment ?? process.env;
  const given = readGivenEndpoints(environment);
  const wanted = options.services ?? SERVICE_NAMES;
  const own = wanted.filter((service) => !isGiven(given, kindOf(service)));
  const dir = resolve(options.dir ?? stackFolder(environment, options.name));
  await checkGiven(given, wanted);
  const { onProgress, signal } = options;
  if (own.length === 0) {
    return new RunningStack({ dir, endpoints: given, servers: new Map(), started: new Set(), onProgress });
  }
  const cacheDir = cacheFolder(environment);
  mkdirSync(cacheDir, { recursive: true });
  mkdirSync(dir, { recursive: true });
  return withStackLock(dir, options, async () => {
    await waitForOtherGuardian(dir, signal);
    const { ports } = await settlePorts(dir);
    const guardian = startGuardian(dir);
    const context = { cacheDir, environment, onProgress, signal, watch: guardian };
    const started = new Set<ServiceName>();
    const servers = await startAll(context, own, dir, ports, guardian, started);
    // Servers that ran before us are not ours to end, so they need no guardian.
    const isGuarded = options.attached && started.size > 0;
    if (!isGuarded) {
      await guardian.release();
    }
    return new RunningStack({
      dir,
      endpoints: endpointsOf(own, ports, given),
      servers,
      started,
      guardian: isGuarded ? guardian : undefined,
      onProgress,
    });
  });
}

async function startAll(
  context: ProvisionContext,
  own: readonly ServiceName[],
  dir: string,
  ports: StackState['ports'],
  guardian: Guardian,
  started: Set<ServiceName>,
): Promise<ReadonlyMap<ServiceName, Server>> {
  const failed = new AbortController();
  const signal =
    context.signal === undefined
      ? failed.signal
      : AbortSignal.any([failed.signal, context.signal]);
  const kinds = [...new Set(own.map(kindOf))];
  const servers = new Map<ServiceName, Server>();
  const outcomes = await Promise.allSettled(
    kinds.map(async (kind) => {
      try {
        const control = { ...context, signal };
        const provided = await provideServers(control, kind, own, dir, ports);
        const starts = provided.map((server) => {
          servers.set(server.service, server);
          return startServer(server, {
            onProgress: context.onProgress,
            control,
            onLaunch: (identity: ProcessIdentity) => {
              started.add(server.service);
              guardian.guard(identity);
            },
          });
        });
        await Promise.all(starts).finally(() => Promise.allSettled(starts));
      } catch (error) {
        // The others are stopped early; the reason that is reported is this one.
        failed.abort();
        throw error;
      }
    }),
  );
  const errors = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  );
  if (errors.length > 0) {
    await endServices(dir, [...started], 0);
    await guardian.release();
    throw errors.find((error) => !isInterruption(error)) ?? errors[0];
  }
  return servers;
}

function isInterruption(error: unknown): boolean {
  return error instanceof StackError && error.code === 'INTERRUPTED';
}
