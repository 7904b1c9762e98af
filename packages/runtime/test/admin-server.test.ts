import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type AdminServer, createMetrics, HealthState, silentLogger, startAdminServer } from '../src/index.ts'

let server: AdminServer | null = null
afterEach(async () => {
  await server?.close()
  server = null
})

async function start(): Promise<{ health: HealthState; url: string; metrics: ReturnType<typeof createMetrics> }> {
  const health = new HealthState()
  const metrics = createMetrics({ processMetrics: false })
  server = await startAdminServer({ host: '127.0.0.1', port: 0, metrics, health, log: silentLogger })
  return { health, metrics, url: `http://127.0.0.1:${server.port}` }
}

describe('the admin server', () => {
  it('is alive whatever is wrong, and ready only when nothing is', async () => {
    const { health, url } = await start()
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    health.set('database', false, 'no answer')
    health.set('partition-3', false, 'paused: 1213')
    const response = await fetch(`${url}/readyz`)
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({ ok: false, reasons: { database: 'no answer', 'partition-3': 'paused: 1213' } })
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    health.set('database', true, '')
    health.clear('partition-3')
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  })

  it('renders metrics in the Prometheus format', async () => {
    const { metrics, url } = await start()
    metrics.counter({ name: 'things_total', help: 'Things.', labels: ['kind'] }).inc({ kind: 'a' }, 2)
    metrics.gauge({ name: 'depth', help: 'Depth.' }).set({}, 7)
    metrics.histogram({ name: 'wait_seconds', help: 'Wait.', buckets: [1, 2] }).observe({}, 1.5)
    const text = await (await fetch(`${url}/metrics`)).text()
    expect(text).toContain('things_total{kind="a"} 2')
    expect(text).toContain('depth 7')
    expect(text).toContain('wait_seconds_bucket{le="2"} 1')
  })

  it('is not alive after a fatal fault, and says the first one', async () => {
    const { health, url } = await start()
    health.setFatal('the group was lost')
    health.setFatal('and more')
    const response = await fetch(`${url}/healthz`)
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({ ok: false, reason: 'the group was lost' })
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ ok: false, reasons: { fatal: 'the group was lost' } })
  })

  it('closes at once, whoever is still connected', async () => {
    const { url } = await start()
    const { hostname, port } = new URL(url)
    // Half a request: the server waits for the rest of it.
    const socket = connect({ host: hostname, port: Number(port) }, () => void socket.write('GET /healthz HTTP/1.1\r\n'))
    const cut = new Promise<boolean>((resolve) => socket.on('error', () => {}).on('close', () => resolve(true)))
    await once(socket, 'connect')
    await server?.close()
    server = null
    expect(await cut).toBe(true)
  })

  it('tells why it cannot listen', async () => {
    const { health, metrics, url } = await start()
    const taken = Number(new URL(url).port)
    await expect(startAdminServer({ host: '127.0.0.1', port: taken, metrics, health, log: silentLogger })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    })
  })

  it('only reads', async () => {
    const { url } = await start()
    expect((await fetch(`${url}/readyz`, { method: 'POST' })).status).toBe(405)
    expect((await fetch(`${url}/readyz`, { method: 'HEAD' })).status).toBe(200)
  })

  it('answers 404 elsewhere', async () => {
    const { url } = await start()
    expect((await fetch(`${url}/other`)).status).toBe(404)
  })
})
