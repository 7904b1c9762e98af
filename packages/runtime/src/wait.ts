import { setTimeout as delay } from 'node:timers/promises'
import { TimedOut } from './errors.ts'

export interface WaitOptions {
  readonly timeoutMs: number
  readonly intervalMs?: number
  /** Names what is awaited, for the error. */
  readonly what: string
}

const INTERVAL_MS = 50

/** Asks again until the answer is neither false, null nor undefined. @throws TimedOut past the time, naming what was awaited. */
export async function waitFor<T>(ask: () => Promise<T> | T, options: WaitOptions): Promise<NonNullable<Exclude<T, false>>> {
  const deadlineMs = performance.now() + options.timeoutMs
  for (;;) {
    const value = await ask()
    if (value !== false && value !== null && value !== undefined) return value as NonNullable<Exclude<T, false>>
    if (performance.now() > deadlineMs) throw new TimedOut(`${options.what}: not within ${options.timeoutMs} ms`)
    await delay(options.intervalMs ?? INTERVAL_MS)
  }
}

/** Bounds a promise in time; the work itself is not cancelled. @throws TimedOut */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  const timer = Promise.withResolvers<never>()
  const handle = setTimeout(() => timer.reject(new TimedOut(`${what}: not within ${timeoutMs} ms`)), timeoutMs)
  try {
    return await Promise.race([work, timer.promise])
  } finally {
    clearTimeout(handle)
  }
}
