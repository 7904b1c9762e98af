import { setTimeout as delay } from 'node:timers/promises'
import { StackError } from './errors.ts'

export interface PollOptions {
  readonly timeoutMs: number
  readonly intervalMs: number
  readonly signal?: AbortSignal | undefined
}

/** Throws INTERRUPTED when the signal has fired. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new StackError('INTERRUPTED', 'interrupted')
  }
}

/** Asks again and again until the answer is true; false when `timeoutMs` passed without one. */
export async function pollUntil(isReached: () => boolean | Promise<boolean>, options: PollOptions): Promise<boolean> {
  const deadlineMs = performance.now() + options.timeoutMs
  for (;;) {
    throwIfInterrupted(options.signal)
    if (await isReached()) {
      return true
    }
    if (performance.now() >= deadlineMs) {
      return false
    }
    await delay(options.intervalMs)
  }
}
