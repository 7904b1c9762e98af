import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HealthState } from './health.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'

export interface AdminServer {
  readonly host: string
  readonly port: number
  close(): Promise<void>
}

export interface AdminServerOptions {
  readonly host: string
  /** 0 lets the system choose; the answer's `port` tells. */
  readonly port: number
  readonly metrics: Metrics
  readonly health: HealthState
  readonly log: Logger
}

const REQUEST_TIMEOUT_MS = 5_000

/**
 * Serves `/healthz` (200 while the event loop answers, 503 with the reason after a fatal fault), `/readyz` (200, or 503 with every reason) and
 * `/metrics` (Prometheus). `close` cuts what is still connected, so it takes no longer than that.
 * @throws the listen error, such as EADDRINUSE.
 */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      options.log.error({ error: String(error), path: request.url }, 'the admin server could not answer')
      response.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  server.on('error', (error) => options.log.error({ error: error.message }, 'the admin server has a fault'))
  const { port } = server.address() as AddressInfo
  return {
    host: options.host,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, { metrics, health }: AdminServerOptions): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return reply(response, 405, 'text/plain', 'only GET and HEAD\n')
  const path = (request.url ?? '/').split('?')[0]
  if (path === '/healthz') {
    const reason = health.fatal()
    return replyJson(response, reason === null ? 200 : 503, reason === null ? { ok: true } : { ok: false, reason })
  }
  if (path === '/readyz') {
    const ready = health.ready()
    return replyJson(response, ready.ok ? 200 : 503, ready)
  }
  if (path === '/metrics') return reply(response, 200, metrics.contentType, await metrics.render())
  reply(response, 404, 'text/plain', 'try /healthz, /readyz or /metrics\n')
}

function replyJson(response: ServerResponse, status: number, body: object): void {
  reply(response, status, 'application/json', `${JSON.stringify(body)}\n`)
}

function reply(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'content-type': contentType }).end(body)
}
