import { setTimeout as delay } from 'node:timers/promises'
import { TimedOut } from './errors.ts'

export interface WaitOptions {
  readonly timeoutMs: number
  readonly intervalMs?: number
  /** Names what is awaited, for the error. */
  readonly what: string
}

const INTERVAL_MS = 50

/**
 * Asks again until the answer is neither false, null nor undefined. An answer that does not come is bounded by the same time.
 * @throws TimedOut past the time, naming what was awaited; whatever `ask` throws, at once.
 */
export async function waitFor<T>(ask: () => Promise<T> | T, options: WaitOptions): Promise<NonNullable<Exclude<T, false>>> {
  const { timeoutMs, intervalMs = INTERVAL_MS, what } = options
  const deadlineMs = performance.now() + timeoutMs
  for (;;) {
    const value = await within(Promise.resolve(ask()), deadlineMs - performance.now(), timedOut(what, timeoutMs))
    if (value !== false && value !== null && value !== undefined) return value as NonNullable<Exclude<T, false>>
    const leftMs = deadlineMs - performance.now()
    if (leftMs <= 0) throw timedOut(what, timeoutMs)
    await delay(Math.min(intervalMs, leftMs))
  }
}

/** Bounds a promise in time; the work itself is not cancelled. @throws TimedOut */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  return within(work, timeoutMs, timedOut(what, timeoutMs))
}

async function within<T>(work: Promise<T>, timeoutMs: number, otherwise: TimedOut): Promise<T> {
  const timer = Promise.withResolvers<never>()
  const handle = setTimeout(() => timer.reject(otherwise), Math.max(0, timeoutMs))
  try {
    return await Promise.race([work, timer.promise])
  } finally {
    clearTimeout(handle)
  }
}

/** Resolves after the time. @throws the signal's reason, at once, when it is aborted before or meanwhile. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    // The timer rejects with an AbortError of its own; the caller wants its reason.
    signal?.throwIfAborted()
    throw error
  }
}

function timedOut(what: string, timeoutMs: number): TimedOut {
  return new TimedOut(`${what}: not within ${timeoutMs} ms`)
}
