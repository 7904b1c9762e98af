import { rmSync } from 'node:fs'
import { type Endpoints, environmentOf, type S3Endpoint } from './endpoints.ts'
import { StackError } from './errors.ts'
import type { Guardian } from './guardian.ts'
import { endProcess } from './server-process.ts'
import type { Server } from './servers/server.ts'
import type { ServiceName } from './service-names.ts'
import { startServer } from './start-server.ts'
import { endServices, runningServices, STOP_GRACE_MS } from './stop-stack.ts'

export interface Stack {
  readonly dir: string
  readonly mysqlUrls: readonly string[]
  readonly kafkaBrokers: readonly string[]
  /** @throws StackError NOT_CREATED when the stack was started without an S3 server. */
  readonly s3: S3Endpoint
  /** The ONCELEDGER_* variables for a child process. */
  env(): Record<string, string>
  /** SIGKILL, as a crash would; returns when the process is gone. */
  kill(service: ServiceName): Promise<void>
  /** Stops the server if it runs, and starts it with the same port and data. */
  restart(service: ServiceName): Promise<void>
  /** Ends what `startStack` started; with `wipe` the data goes too. */
  stop(options?: { wipe?: boolean }): Promise<void>
}

export interface RunningStackParts {
  readonly dir: string
  readonly endpoints: Endpoints
  /** The servers that are not given from outside. */
  readonly servers: ReadonlyMap<ServiceName, Server>
  /** Those of them that this process started, and therefore ends. */
  readonly started: Set<ServiceName>
  /** Present when the servers must not outlive this process. */
  readonly guardian?: Guardian | undefined
  readonly onProgress: (line: string) => void
}

export class RunningStack implements Stack {
  readonly dir: string
  readonly mysqlUrls: readonly string[]
  readonly kafkaBrokers: readonly string[]
  readonly #endpoints: Endpoints
  readonly #servers: ReadonlyMap<ServiceName, Server>
  readonly #started: Set<ServiceName>
  readonly #guardian: Guardian | undefined
  readonly #onProgress: (line: string) => void

  constructor(parts: RunningStackParts) {
    this.dir = parts.dir
    this.mysqlUrls = parts.endpoints.mysqlUrls
    this.kafkaBrokers = parts.endpoints.kafkaBrokers
    this.#endpoints = parts.endpoints
    this.#servers = parts.servers
    this.#started = parts.started
    this.#guardian = parts.guardian
    this.#onProgress = parts.onProgress
  }

  get s3(): S3Endpoint {
    const { s3 } = this.#endpoints
    if (s3 === undefined) {
      throw new StackError('NOT_CREATED', 'this stack was started without an S3 server')
    }
    return s3
  }

  env(): Record<string, string> {
    return environmentOf(this.#endpoints)
  }

  async kill(service: ServiceName): Promise<void> {
    await endProcess(this.#serverOf(service).command, 0)
  }

  async restart(service: ServiceName): Promise<void> {
    const server = this.#serverOf(service)
    await endProcess(server.command, server.stopGraceMs)
    await startServer(server, {
      onProgress: this.#onProgress,
      control: { watch: this.#guardian },
      onLaunch: (identity) => {
        this.#started.add(service)
        this.#guardian?.guard(identity)
      },
    })
  }

  async stop(options?: { wipe?: boolean }): Promise<void> {
    const wipe = options?.wipe === true
    await endServices(this.dir, [...this.#started], wipe ? 0 : STOP_GRACE_MS)
    this.#started.clear()
    await this.#guardian?.release()
    if (wipe && this.#servers.size > 0 && runningServices(this.dir).length === 0) {
      rmSync(this.dir, { recursive: true, force: true })
    }
  }

  #serverOf(service: ServiceName): Server {
    const server = this.#servers.get(service)
    if (server === undefined) {
      throw new StackError('NOT_OURS', `${service} was not started here, so it is not ours to stop`)
    }
    return server
  }
}
