/** The environment does not describe a runnable process. The message lists every fault, not only the first. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'CONFIG_INVALID'
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(
      `the configuration has ${faults.length === 1 ? 'one fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
    )
    this.faults = faults
  }
}

/** Something awaited did not happen in its time. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'
  readonly code = 'TIMED_OUT'
}

/** Every attempt of a bounded retry failed. `cause` is the error of the last one. */
export class RetriesExhausted extends Error {
  override readonly name = 'RetriesExhausted'
  readonly code = 'RETRIES_EXHAUSTED'
  readonly attempts: number
  constructor(attempts: number, last: unknown) {
    super(`gave up after ${attempts} attempts: ${last instanceof Error ? last.message : String(last)}`, { cause: last })
    this.attempts = attempts
  }
}

/** Steps of a graceful stop that failed or ran out of time; the others were taken all the same. */
export class StopFailed extends Error {
  override readonly name = 'StopFailed'
  readonly code = 'STOP_FAILED'
  readonly steps: readonly string[]
  constructor(failures: readonly { readonly step: string; readonly error: unknown }[]) {
    super(
      `did not stop: ${failures.map(({ step, error }) => `${step} (${error instanceof Error ? error.message : String(error)})`).join(', ')}`,
      {
        cause: failures[0]?.error,
      },
    )
    this.steps = failures.map(({ step }) => step)
  }
}
