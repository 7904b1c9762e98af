import { RetriesExhausted } from './errors.ts'

export interface RetryOptions {
  /** How often `work` is run at most, the first time included. */
  readonly attempts: number
  /** The longest wait after the first failure; it doubles with each one, up to `maxDelayMs`. */
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly signal?: AbortSignal
  /** Whether trying again can help. Any other error is thrown as it is. */
  readonly retryable: (error: unknown) => boolean
}

/**
 * Runs `work` until it succeeds, waiting a random time in [0, min(maxDelayMs, baseDelayMs * 2^n)) after the n-th failure, counted from 0
 * ("full jitter": clients that failed together do not come back together; AWS Architecture Blog, Exponential Backoff And Jitter).
 * @throws RetriesExhausted with the last error as its cause; what is not retryable, as it is; the signal's reason when aborted.
 */
export async function retry<T>(work: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts, signal } = options
  if (!Number.isInteger(attempts) || attempts < 1) throw new RangeError(`attempts must be a whole number from 1 on, not ${attempts}`)
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    try {
      return await work(attempt)
    } catch (error) {
      signal?.throwIfAborted()
      if (!options.retryable(error)) throw error
      if (attempt >= attempts) throw new RetriesExhausted(attempt, error)
    }
    await options.sleep(jitteredDelayMs(attempt - 1, options), signal)
  }
}

function jitteredDelayMs(failures: number, { baseDelayMs, maxDelayMs, random }: RetryOptions): number {
  return random() * Math.min(maxDelayMs, baseDelayMs * 2 ** failures)
}
