import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { EXIT_CODES, onShutdown, silentLogger, TimedOut, waitFor, withTimeout } from '../src/index.ts'

describe('waiting', () => {
  it('ends with the first answer that is one', async () => {
    let asked = 0
    expect(await waitFor(() => (++asked < 3 ? null : asked), { timeoutMs: 1_000, intervalMs: 1, what: 'three' })).toBe(3)
  })

  it('ends with a named error past its time', async () => {
    await expect(waitFor(() => false, { timeoutMs: 5, intervalMs: 1, what: 'a miracle' })).rejects.toThrow(/a miracle: not within 5 ms/)
    await expect(withTimeout(new Promise(() => {}), 5, 'for ever')).rejects.toBeInstanceOf(TimedOut)
  })
})

class FakeProcess extends EventEmitter {
  readonly exits = Promise.withResolvers<number>()
  exit(code: number): never {
    this.exits.resolve(code)
    return undefined as never
  }
}

function stopping(stop: () => Promise<void>, closed: Promise<Error | undefined> = new Promise(() => {})): FakeProcess {
  const fake = new FakeProcess()
  onShutdown({ timeoutMs: 20, log: silentLogger, stop, closed, process: fake as unknown as NodeJS.Process })
  return fake
}

describe('the end of a process', () => {
  it('is graceful on SIGTERM', async () => {
    const fake = stopping(async () => {})
    fake.emit('SIGTERM')
    expect(await fake.exits.promise).toBe(EXIT_CODES.ok)
  })

  it('is bounded', async () => {
    const fake = stopping(() => new Promise(() => {}))
    fake.emit('SIGTERM')
    expect(await fake.exits.promise).toBe(EXIT_CODES.stopTimedOut)
  })

  it('is immediate on a second signal', async () => {
    const fake = stopping(() => new Promise(() => {}))
    fake.emit('SIGINT')
    fake.emit('SIGINT')
    expect(await fake.exits.promise).toBe(EXIT_CODES.stoppedTwice)
  })

  it('has a code of its own after a crash', async () => {
    const fake = stopping(async () => {}, Promise.resolve(new Error('gone')))
    expect(await fake.exits.promise).toBe(EXIT_CODES.failed)
  })
})
