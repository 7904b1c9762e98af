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
  const at =
    (level: LogLevel) =>
    (fields: LogFields, message: string): void => {
      if (inner.isLevelEnabled(level)) inner[level](printableFields(fields, 0), message)
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => wrap(inner.child(printableFields(fields, 0))),
  }
}

/** As deep as pino itself goes: a log line is no place for whole object graphs. */
const DEPTH_MAX = 5
const ENTRIES_MAX = 100

function printableFields(fields: LogFields, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields)
      .slice(0, ENTRIES_MAX)
      .map(([name, value]) => [name, printable(value, depth)]),
  )
}

/** JSON has no bigint: offsets and money are logged as text, for a number would lose digits in most readers. An Error would be `{}`. */
function printable(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value
  if (depth >= DEPTH_MAX) return '[deeper]'
  if (value instanceof Error) return printableError(value, depth + 1)
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map((item) => printable(item, depth + 1))
  return printableFields(value as LogFields, depth + 1)
}

function printableError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause } = error
  return {
    name,
    message,
    ...printableFields(Object.fromEntries(Object.entries(error)), depth),
    stack,
    ...(cause === undefined ? {} : { cause: printable(cause, depth) }),
  }
}
