import { StopFailed } from './errors.ts'
import type { Logger } from './logger.ts'
import { withTimeout } from './wait.ts'

/** Exit codes of every service. */
export const EXIT_CODES = { ok: 0, failed: 1, misconfigured: 2, stopTimedOut: 3, stoppedTwice: 130 } as const

export interface ShutdownOptions {
  readonly timeoutMs: number
  readonly log: Logger
  /** One function, or `stopInReverse([...])`. */
  readonly stop: (timeoutMs: number) => Promise<void>
  /** Ends the process by itself: undefined is a wanted end, an error a crash. */
  readonly closed: Promise<Error | undefined>
  readonly process: Pick<NodeJS.Process, 'on' | 'exit'>
  readonly signals?: readonly NodeJS.Signals[]
}

const SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']

/** Signals stop the process gracefully within the time; a second one ends it at once; a crash ends it with a code, to be started again. */
export function onShutdown(options: ShutdownOptions): void {
  const { log, process, timeoutMs } = options
  let stopping = false
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return process.exit(EXIT_CODES.stoppedTwice)
    stopping = true
    log.info({ signal }, 'stopping')
    try {
      await withTimeout(options.stop(timeoutMs), timeoutMs, 'graceful stop')
      log.info({}, 'stopped')
      process.exit(EXIT_CODES.ok)
    } catch (error) {
      log.error({ error: String(error) }, 'the stop did not finish; what was in flight is judged again after the next start')
      process.exit(EXIT_CODES.stopTimedOut)
    }
  }
  for (const signal of options.signals ?? SIGNALS) process.on(signal, () => void stop(signal))
  void options.closed.then((error) => {
    if (stopping || error === undefined) return
    log.error({ error: error.message }, 'crashed; start the process again')
    process.exit(EXIT_CODES.failed)
  })
}

export interface StopStep {
  readonly name: string
  readonly stop: (timeoutMs: number) => Promise<void> | void
}

/**
 * A stop made of steps, named in the order in which things were opened and taken in reverse. Each gets an equal part of the time that is left, so
 * one that hangs cannot take it from those after it, and all are tried whatever happens to one.
 * The returned function throws StopFailed, naming the steps that failed or ran out of time.
 */
export function stopInReverse(steps: readonly StopStep[], log: Logger): (timeoutMs: number) => Promise<void> {
  return async (timeoutMs) => {
    const deadlineMs = performance.now() + timeoutMs
    const failures: { step: string; error: unknown }[] = []
    for (const [i, { name, stop }] of steps.toReversed().entries()) {
      const shareMs = Math.max(1, Math.floor((deadlineMs - performance.now()) / (steps.length - i)))
      try {
        await withTimeout((async () => stop(shareMs))(), shareMs, name)
        log.debug({ step: name }, 'stopped one step')
      } catch (error) {
        log.warn({ step: name, error: String(error) }, 'a step of the stop failed; going on with the next')
        failures.push({ step: name, error })
      }
    }
    if (failures.length > 0) throw new StopFailed(failures)
  }
}
