/** The environment does not describe a runnable process. The message lists every fault, not only the first. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
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
}
