import { destination, pino } from 'pino'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Readonly<Record<string, unknown>>

export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  /** A logger that adds these fields to every line. */
  child(fields: LogFields): Logger
}

export interface LoggerOptions {
  readonly level: LogLevel
  /** Fields of every line, such as the service and the shard. */
  readonly fields?: LogFields
}

/** JSON lines on stderr, written at once, so that the last line before a crash is not lost. stdout stays free for results. */
export function createLogger({ level, fields = {} }: LoggerOptions): Logger {
  const root = pino(
    { level, base: { ...fields }, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    destination({ dest: 2, sync: true }),
  )
  return wrap(root)
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLogger }

function wrap(inner: pino.Logger): Logger {
  return {
    debug: (fields, message) => inner.debug(plain(fields), message),
    info: (fields, message) => inner.info(plain(fields), message),
    warn: (fields, message) => inner.warn(plain(fields), message),
    error: (fields, message) => inner.error(plain(fields), message),
    child: (fields) => wrap(inner.child(plain(fields))),
  }
}

/** JSON has no bigint: offsets and money are logged as strings. */
function plain(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : value]))
}
