import { mkdirSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type Endpoints,
  environmentOf,
  isGiven,
  readGivenEndpoints,
  type S3Endpoint,
} from './endpoints.ts';
import { StackError } from './errors.ts';
import { withFileLock } from './file-lock.ts';
import { checkGiven } from './given-health.ts';
import { type Guardian, startGuardian } from './guardian.ts';
import { endpointsOf, identityOf, provideServers, settlePorts } from './local-servers.ts';
import { cacheFolder, stackFolder } from './paths.ts';
import { type ProvisionContext, PROVISION_LOCK_TIMEOUT_MS } from './provision/context.ts';
import { endProcess, findRunning, type ProcessIdentity } from './server-process.ts';
import type { Server } from './servers/server.ts';
import { kindOf, SERVICE_NAMES, type ServiceName } from './service-names.ts';
import { startServer } from './start-server.ts';
import type { StackState } from './state-file.ts';

/** MySQL writes its buffer pool back in this time; past it, SIGKILL and crash recovery do. */
export const STOP_GRACE_MS = 60_000;

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

export interface Stack {
  readonly dir: string;
  readonly mysqlUrls: readonly string[];
  readonly kafkaBrokers: readonly string[];
  /** @throws StackError NOT_CREATED when the stack was started without an S3 server. */
  readonly s3: S3Endpoint;
  /** The ONCELEDGER_* variables for a child process. */
  env(): Record<string, string>;
  /** SIGKILL, as a crash would; returns when the process is gone. */
  kill(service: ServiceName): Promise<void>;
  /** Stops the server if it runs, and starts it with the same port and data. */
  restart(service: ServiceName): Promise<void>;
  /** Ends what `startStack` started; with `wipe` the data goes too. */
  stop(options?: { wipe?: boolean }): Promise<void>;
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
  if (own.length === 0) {
    return new RunningStack(dir, given, new Map(), new Set(), undefined, options.onProgress);
  }
  const cacheDir = cacheFolder(environment);
  mkdirSync(cacheDir, { recursive: true });
  mkdirSync(dir, { recursive: true });
  return withStackLock(dir, options, async () => {
    const { ports } = await settlePorts(dir);
    const context = { cacheDir, environment, onProgress: options.onProgress, signal: options.signal };
    const guardian = startGuardian(dir);
    const started = new Set<ServiceName>();
    const servers = await startAll(context, own, dir, ports, guardian, started);
    if (!options.attached) {
      await guardian.release();
    }
    const endpoints = endpointsOf(own, ports, given);
    const guard = options.attached ? guardian : undefined;
    return new RunningStack(dir, endpoints, servers, started, guard, options.onProgress);
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
        const provided = await provideServers({ ...context, signal }, kind, own, dir, ports);
        const starts = provided.map((server) => {
          servers.set(server.service, server);
          return startServer(server, {
            onProgress: context.onProgress,
            signal,
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

/** Ends services of a stack by their pid files, whoever started them. */
export async function endServices(
  dir: string,
  services: readonly ServiceName[],
  graceMs: number,
): Promise<void> {
  await Promise.all(services.map((service) => endProcess(identityOf(dir, service), graceMs)));
}

/** One process at a time starts, stops or wipes a stack. */
export function withStackLock<T>(
  dir: string,
  options: { signal?: AbortSignal | undefined; onProgress: (line: string) => void },
  work: () => Promise<T>,
): Promise<T> {
  return withFileLock(
    `${dir}.lock`,
    {
      timeoutMs: PROVISION_LOCK_TIMEOUT_MS,
      signal: options.signal,
      onWait: () => options.onProgress('waiting for another process that works on this stack'),
    },
    work,
  );
}

/** Ends every server of a stack folder, and with `wipe` deletes the folder. */
export async function stopStackAt(dir: string, wipe: boolean): Promise<readonly ServiceName[]> {
  const running = SERVICE_NAMES.filter((name) => findRunning(identityOf(dir, name)) !== undefined);
  await endServices(dir, running, wipe ? 0 : STOP_GRACE_MS);
  if (wipe) {
    rmSync(dir, { recursive: true, force: true });
  }
  return running;
}

class RunningStack implements Stack {
  readonly dir: string;
  readonly mysqlUrls: readonly string[];
  readonly kafkaBrokers: readonly string[];
  readonly #endpoints: Endpoints;
  readonly #servers: ReadonlyMap<ServiceName, Server>;
  readonly #started: Set<ServiceName>;
  readonly #guardian: Guardian | undefined;
  readonly #onProgress: (line: string) => void;

  constructor(
    dir: string,
    endpoints: Endpoints,
    servers: ReadonlyMap<ServiceName, Server>,
    started: Set<ServiceName>,
    guardian: Guardian | undefined,
    onProgress: (line: string) => void,
  ) {
    this.dir = dir;
    this.mysqlUrls = endpoints.mysqlUrls;
    this.kafkaBrokers = endpoints.kafkaBrokers;
    this.#endpoints = endpoints;
    this.#servers = servers;
    this.#started = started;
    this.#guardian = guardian;
    this.#onProgress = onProgress;
  }

  get s3(): S3Endpoint {
    const { s3 } = this.#endpoints;
    if (s3 === undefined) {
      throw new StackError('NOT_CREATED', 'this stack was started without an S3 server');
    }
    return s3;
  }

  env(): Record<string, string> {
    return environmentOf(this.#endpoints);
  }

  async kill(service: ServiceName): Promise<void> {
    await endProcess(this.#serverOf(service).command, 0);
  }

  async restart(service: ServiceName): Promise<void> {
    const server = this.#serverOf(service);
    await endProcess(server.command, server.stopGraceMs);
    await startServer(server, {
      onProgress: this.#onProgress,
      onLaunch: (identity) => {
        this.#started.add(service);
        this.#guardian?.guard(identity);
      },
    });
  }

  async stop(options?: { wipe?: boolean }): Promise<void> {
    const wipe = options?.wipe === true;
    await endServices(this.dir, [...this.#started], wipe ? 0 : STOP_GRACE_MS);
    this.#started.clear();
    await this.#guardian?.release();
    const isIdle = SERVICE_NAMES.every((name) => findRunning(identityOf(this.dir, name)) === undefined);
    if (wipe && isIdle && this.#servers.size > 0) {
      rmSync(this.dir, { recursive: true, force: true });
    }
  }

  #serverOf(service: ServiceName): Server {
    const server = this.#servers.get(service);
    if (server === undefined) {
      throw new StackError('NOT_OURS', `${service} was not started here, so it is not ours to stop`);
    }
    return server;
  }
}
