import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import {
  EXIT_CODES,
  onShutdown,
  silentLogger,
  sleep,
  StopFailed,
  type StopStep,
  stopInReverse,
  TimedOut,
  waitFor,
  withTimeout,
} from '../src/index.ts'

describe('waiting', () => {
  it('ends with the first answer that is one', async () => {
    let asked = 0
    expect(await waitFor(() => (++asked < 3 ? null : asked), { timeoutMs: 1_000, intervalMs: 1, what: 'three' })).toBe(3)
  })

  it('ends with a named error past its time', async () => {
    await expect(waitFor(() => false, { timeoutMs: 5, intervalMs: 1, what: 'a miracle' })).rejects.toThrow(/a miracle: not within 5 ms/)
    await expect(withTimeout(new Promise(() => {}), 5, 'for ever')).rejects.toBeInstanceOf(TimedOut)
  })

  it('is bounded where an answer never comes', async () => {
    await expect(waitFor(() => new Promise<boolean>(() => {}), { timeoutMs: 5, what: 'an answer' })).rejects.toThrow(
      /an answer: not within 5 ms/,
    )
  })

  it('hands on what the question throws', async () => {
    const gone = new Error('gone')
    await expect(waitFor(() => Promise.reject(gone), { timeoutMs: 1_000, what: 'an answer' })).rejects.toBe(gone)
  })

  it('sleeps until it is woken by an abort, with its reason', async () => {
    await sleep(1)
    const reason = new Error('stopping')
    const stop = new AbortController()
    const sleeping = sleep(60_000, stop.signal)
    stop.abort(reason)
    await expect(sleeping).rejects.toBe(reason)
    await expect(sleep(60_000, stop.signal)).rejects.toBe(reason)
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

  it('listens to the signals that it is told', async () => {
    const fake = new FakeProcess()
    const options = { timeoutMs: 20, log: silentLogger, stop: async () => {}, closed: new Promise<undefined>(() => {}) }
    onShutdown({ ...options, process: fake as unknown as NodeJS.Process, signals: ['SIGHUP'] })
    expect(fake.eventNames()).toEqual(['SIGHUP'])
    fake.emit('SIGHUP')
    expect(await fake.exits.promise).toBe(EXIT_CODES.ok)
  })

  it('has a code of its own after a crash', async () => {
    const fake = stopping(async () => {}, Promise.resolve(new Error('gone')))
    expect(await fake.exits.promise).toBe(EXIT_CODES.failed)
  })
})

describe('a stop in steps', () => {
  function recording(): { stopped: string[]; step: (name: string, stop?: StopStep['stop']) => StopStep } {
    const stopped: string[] = []
    const step = (name: string, stop: StopStep['stop'] = () => {}): StopStep => ({
      name,
      stop: (timeoutMs) => {
        stopped.push(name)
        return stop(timeoutMs)
      },
    })
    return { stopped, step }
  }

  it('closes what was opened last first', async () => {
    const { stopped, step } = recording()
    await stopInReverse([step('database'), step('server'), step('consumer')], silentLogger)(1_000)
    expect(stopped).toEqual(['consumer', 'server', 'database'])
  })

  it('goes on past a step that fails and one that hangs, and names both', async () => {
    const { stopped, step } = recording()
    const steps = [
      step('database'),
      step('server', () => new Promise(() => {})),
      step('consumer', () => {
        throw new Error('no broker')
      }),
    ]
    const error = await stopInReverse(steps, silentLogger)(60).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(StopFailed)
    expect(error).toMatchObject({ code: 'STOP_FAILED', steps: ['consumer', 'server'] })
    expect(stopped).toEqual(['consumer', 'server', 'database'])
  })

  it('gives each step an equal part of the time that is left', async () => {
    const shares: number[] = []
    const { step } = recording()
    const note = (timeoutMs: number): void => void shares.push(timeoutMs)
    await stopInReverse([step('a', note), step('b', note)], silentLogger)(10_000)
    expect(shares[0]).toBeLessThanOrEqual(5_000)
    expect(shares[1]).toBeGreaterThan(5_000)
  })
})
