import { createServer } from 'node:net'
import { StackError } from './errors.ts'

/** Below 32768, where Linux starts to hand out ports to outgoing connections. */
const FIRST_PORT = 20_000
const LAST_PORT = 32_767

export type IsFree = (port: number) => Promise<boolean>

/**
 * Chooses `count` different free loopback ports. The search starts at a place that `seed` decides,
 * so two stacks that start at the same time seldom look at the same ports.
 *
 * @throws StackError START_FAILED when the whole range is taken.
 */
export async function chooseFreePorts(count: number, seed: number, taken: ReadonlySet<number>, isFree: IsFree): Promise<readonly number[]> {
  const span = LAST_PORT - FIRST_PORT + 1
  const chosen: number[] = []
  for (let step = 0; step < span && chosen.length < count; step += 1) {
    const port = FIRST_PORT + ((((seed + step) % span) + span) % span)
    if (!taken.has(port) && (await isFree(port))) {
      chosen.push(port)
    }
  }
  if (chosen.length < count) {
    throw new StackError('START_FAILED', `no free port between ${FIRST_PORT} and ${LAST_PORT}`)
  }
  return chosen
}

/** Whether a server could listen on 127.0.0.1:port now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      server.close(() => resolve(true))
    })
  })
}
