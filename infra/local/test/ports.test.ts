import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { chooseFreePorts, isPortFree } from '../src/ports.ts'

const allFree = async () => true

describe('ports', () => {
  test('are different, and below the range of outgoing connections, whatever the seed', async () => {
    for (const seed of [0, 12_767, 2 ** 32 - 1, -5]) {
      const ports = await chooseFreePorts(5, seed, new Set(), allFree)
      expect(new Set(ports).size).toBe(5)
      expect(ports.every((port) => port >= 20_000 && port < 32_768)).toBe(true)
    }
  })

  test('skip what is taken by a stranger or by the stack itself', async () => {
    const isFree = async (port: number) => port !== 20_000
    expect(await chooseFreePorts(2, 0, new Set([20_001]), isFree)).toEqual([20_002, 20_003])
  })

  test('a machine without a free port is an error, not an endless search', async () => {
    await expect(chooseFreePorts(1, 7, new Set(), async () => false)).rejects.toThrow(expect.objectContaining({ code: 'START_FAILED' }))
  })

  test('a port with a listener is not free', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    expect(await isPortFree(port)).toBe(false)
    await new Promise((resolve) => server.close(resolve))
    expect(await isPortFree(port)).toBe(true)
  })
})
