/** What went wrong, for a caller that has to choose what to do. */
export type StackErrorCode =
  | 'MISSING_TOOL'
  | 'PROVISION_FAILED'
  | 'COMMAND_FAILED'
  | 'START_FAILED'
  | 'UNHEALTHY'
  | 'NOT_OURS'
  | 'IN_USE'
  | 'NOT_CREATED'
  | 'BAD_STATE'
  | 'BAD_SETTING'
  | 'LOCK_TIMEOUT'
  | 'STOP_FAILED'
  | 'INTERRUPTED'

/** A fault of the local stack. The message is plain words for the person at the terminal. */
export class StackError extends Error {
  readonly code: StackErrorCode

  constructor(code: StackErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StackError'
    this.code = code
  }
}

/** The system error code (`ENOENT`, `ECONNREFUSED`, ...) of a thrown value, if it has one. */
export function systemCodeOf(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    return error.code
  }
  return undefined
}
