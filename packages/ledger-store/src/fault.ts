/** What a failed statement means for the batch. Decided by error numbers alone, never by the text of a message (ADJ-4). */
export type FaultKind =
  /** 1062: the unique key decided against us. Roll back and judge again with reads. */
  | 'duplicate-key'
  /** The transaction is surely gone (1213, 1205) or in doubt (connection lost, time-out). Same identities again, bounded. */
  | 'transient'
  /** The statement itself can never succeed with this data: find the message that causes it. */
  | 'data'
  /** Anything else: not the message's fault. Never parks; the partition waits and says so. */
  | 'unavailable'

export interface Fault {
  readonly kind: FaultKind
  /** Stable code for logs, metrics and parked rows, such as `1213` or `ECONNRESET`. */
  readonly code: string
  /** Whether the connection may still be used, after a ROLLBACK. */
  readonly connectionUsable: boolean
}

const DUPLICATE_KEY = 1062
/** Deadlock, lock wait time-out: server errors after which the connection is sound. */
const RETRYABLE_ON_CONNECTION = new Set([1213, 1205])
/**
 * Shutdown, read-only, lost majority, too many connections, killed, interrupted: another connection may fare better.
 * 1040 1053 1077 1079 1152 1158-1161 1184 1290 1317 1792 1836 2006 2013 3024 3100 3101 3168 3169 4031.
 */
const RETRYABLE_ELSEWHERE = new Set([
  1040, 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1290, 1317, 1792, 1836, 2006, 2013, 3024, 3100, 3101, 3168, 3169, 4031,
])
/** Too long, out of range, wrong value, NULL, check constraint, guard (1242): caused by the values of one row. */
const DATA = new Set([1406, 1264, 1366, 1292, 1048, 3819, 1690, 1242, 3140, 3141])
const NETWORK = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'PROTOCOL_ENQUEUE_AFTER_QUIT',
  'ER_CON_COUNT_ERROR',
])

const CONNECTION_CLOSED = 'CONNECTION_CLOSED'

export function classifyFault(error: unknown): Fault {
  const { errno, code, fatal } = error as { errno?: unknown; code?: unknown; fatal?: unknown }
  const name = typeof code === 'string' ? code : ''
  if (NETWORK.has(name)) return { kind: 'transient', code: name, connectionUsable: false }
  // mysql2 gives no code to a command that meets a connection which ended while it was lent.
  if (fatal === true && name === '' && errno === undefined) return { kind: 'transient', code: CONNECTION_CLOSED, connectionUsable: false }
  if (typeof errno !== 'number') return { kind: 'unavailable', code: name === '' ? 'UNKNOWN' : name, connectionUsable: false }
  const number = String(errno)
  if (errno === DUPLICATE_KEY) return { kind: 'duplicate-key', code: number, connectionUsable: true }
  if (RETRYABLE_ON_CONNECTION.has(errno)) return { kind: 'transient', code: number, connectionUsable: true }
  if (RETRYABLE_ELSEWHERE.has(errno)) return { kind: 'transient', code: number, connectionUsable: false }
  if (DATA.has(errno)) return { kind: 'data', code: number, connectionUsable: true }
  return { kind: 'unavailable', code: number, connectionUsable: false }
}

/** Whether an error came from the server or the connection, as opposed to our own code. */
export function isDatabaseFault(error: unknown): boolean {
  const { errno, code, fatal } = error as { errno?: unknown; code?: unknown; fatal?: unknown }
  return typeof errno === 'number' || fatal === true || (typeof code === 'string' && (NETWORK.has(code) || code.startsWith('PROTOCOL_')))
}
