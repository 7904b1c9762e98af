/** Time as the consumer sees it, so that tests can own it. */
export interface Timers {
  nowMs(): number
  /** Runs once after the delay, unless the returned function is called first. */
  after(delayMs: number, run: () => void): () => void
}

export const SYSTEM_TIMERS: Timers = {
  nowMs: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}

/** Resolves after the delay, or as soon as the signal aborts; never rejects. */
export function pauseFor(timers: Timers, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = timers.after(delayMs, end)
    signal.addEventListener('abort', end)
  })
}

/** True if the promise settled in time. A rejection counts as settled: whoever owns the promise handles it. */
export async function settlesWithin(timers: Timers, timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  let cancel = (): void => {}
  const late = new Promise<false>((resolve) => {
    cancel = timers.after(Math.max(0, timeoutMs), () => resolve(false))
  })
  try {
    return await Promise.race([
      work.then(
        () => true,
        () => true,
      ),
      late,
    ])
  } finally {
    cancel()
  }
}
