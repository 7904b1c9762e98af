import type { Logger } from './logger.ts'
import { withTimeout } from './wait.ts'

/** Exit codes of every service. */
export const EXIT_CODES = { ok: 0, failed: 1, misconfigured: 2, stopTimedOut: 3, stoppedTwice: 130 } as const

export interface ShutdownOptions {
  readonly timeoutMs: number
  readonly log: Logger
  readonly stop: (timeoutMs: number) => Promise<void>
  /** Ends the process by itself: undefined is a wanted end, an error a crash. */
  readonly closed: Promise<Error | undefined>
  readonly process: Pick<NodeJS.Process, 'on' | 'exit'>
}

/** SIGTERM and SIGINT stop gracefully within the time; a second signal ends at once; a crash ends with a code, to be started again. */
export function onShutdown(options: ShutdownOptions): void {
  const { log, process, timeoutMs } = options
  let stopping = false
  const stop = async (signal: string): Promise<void> => {
    if (stopping) process.exit(EXIT_CODES.stoppedTwice)
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
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
  void options.closed.then((error) => {
    if (stopping || error === undefined) return
    log.error({ error: error.message }, 'crashed; start the process again')
    process.exit(EXIT_CODES.failed)
  })
}
