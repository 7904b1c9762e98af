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

/** Serves `/healthz` (the event loop answers), `/readyz` (200, or 503 with every reason) and `/metrics` (Prometheus). */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      options.log.error({ error: String(error), path: request.url }, 'the admin server could not answer')
      response.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => resolve())
  })
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
  const path = (request.url ?? '/').split('?')[0]
  if (path === '/healthz') return reply(response, 200, 'application/json', '{"ok":true}\n')
  if (path === '/readyz') {
    const ready = health.ready()
    return reply(response, ready.ok ? 200 : 503, 'application/json', `${JSON.stringify(ready)}\n`)
  }
  if (path === '/metrics') return reply(response, 200, metrics.contentType, await metrics.render())
  reply(response, 404, 'text/plain', 'try /healthz, /readyz or /metrics\n')
}

function reply(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'content-type': contentType }).end(body)
}
