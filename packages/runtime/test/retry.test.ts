import { describe, expect, it } from 'vitest'
import { RetriesExhausted, type RetryOptions, retry, sleep } from '../src/index.ts'

class Transient extends Error {}

function options(more: Partial<RetryOptions> = {}): RetryOptions & { readonly sleptMs: number[] } {
  const sleptMs: number[] = []
  return {
    attempts: 5,
    baseDelayMs: 100,
    maxDelayMs: 300,
    random: () => 0.5,
    sleep: async (ms) => {
      sleptMs.push(ms)
    },
    retryable: (error) => error instanceof Transient,
    sleptMs,
    ...more,
  }
}

function failing(times: number, error: Error = new Transient('busy')) {
  const runs: number[] = []
  const work = async (attempt: number): Promise<string> => {
    runs.push(attempt)
    if (runs.length <= times) throw error
    return 'done'
  }
  return { work, runs }
}

describe('retry', () => {
  it('gives the first success and waits for nothing before it', async () => {
    const { work, runs } = failing(0)
    const given = options()
    expect(await retry(work, given)).toBe('done')
    expect({ runs, sleptMs: given.sleptMs }).toEqual({ runs: [1], sleptMs: [] })
  })

  it('waits a random part of a delay that doubles up to its limit', async () => {
    const given = options()
    expect(await retry(failing(4).work, given)).toBe('done')
    expect(given.sleptMs).toEqual([50, 100, 150, 150])
  })

  it('[ADJ-4] is bounded, and then surfaces with the last error', async () => {
    const busy = new Transient('busy')
    const { work, runs } = failing(99, busy)
    const given = options({ attempts: 3 })
    const error = await retry(work, given).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RetriesExhausted)
    expect(error).toMatchObject({ code: 'RETRIES_EXHAUSTED', attempts: 3, cause: busy })
    expect({ runs, waits: given.sleptMs.length }).toEqual({ runs: [1, 2, 3], waits: 2 })
  })

  it('throws what no retry can help as it is', async () => {
    const bug = new TypeError('bug')
    const { work, runs } = failing(99, bug)
    await expect(retry(work, options())).rejects.toBe(bug)
    expect(runs).toEqual([1])
  })

  it('ends with the reason of an abort, while it waits too', async () => {
    const stop = new AbortController()
    const reason = new Error('stopping')
    const { work, runs } = failing(99)
    const waiting = retry(work, options({ baseDelayMs: 60_000, maxDelayMs: 60_000, sleep, signal: stop.signal }))
    stop.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    expect(runs).toEqual([1])
    await expect(retry(work, options({ signal: stop.signal }))).rejects.toBe(reason)
    expect(runs).toEqual([1])
  })

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses %s attempts', async (attempts) => {
    await expect(retry(failing(0).work, options({ attempts }))).rejects.toThrow(RangeError)
  })
})
