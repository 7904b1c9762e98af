export type CommandLogErrorCode =
  | 'CLOSED'
  | 'CONSUMER_CRASHED'
  | 'OUTCOME_INVALID'
  | 'RECORD_TOO_LARGE'
  | 'REQUEST_FAILED'
  | 'TIMEOUT'
  | 'TOPIC_NOT_READY'
  | 'TOPIC_PARTITIONS_DIFFER'
  | 'TOPIC_UNKNOWN'

/** A fault of the log or of its use. `cause` keeps what the client library threw, for the log only: nothing may branch on it. */
export class CommandLogError extends Error {
  override readonly name = 'CommandLogError'
  readonly code: CommandLogErrorCode

  constructor(code: CommandLogErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** Text of anything that was thrown, for logs and reasons. */
export function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
