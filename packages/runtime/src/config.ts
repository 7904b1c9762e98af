import { z } from 'zod'
import { ConfigError } from './errors.ts'

const SECRET_IN_URL = /(:\/\/[^:@/]*:)[^@/]*@/g
const SECRET_NAME = /(SECRET|PASSWORD|TOKEN)/
const DURATION_DEFAULT_MAX_MS = 86_400_000

/** Schemas for what environment variables hold: always text on their way in. */
export const env = {
  integer({ min, max }: { min: number; max: number }) {
    return z
      .string()
      .regex(/^-?\d{1,15}$/, { error: 'must be a whole number', abort: true })
      .transform(Number)
      .refine((value) => value >= min && value <= max, { error: `must lie between ${min} and ${max}` })
  },
  /** A TCP port; 0 lets the system choose. */
  port() {
    return env.integer({ min: 0, max: 65_535 })
  },
  durationMs({ max = DURATION_DEFAULT_MAX_MS }: { max?: number } = {}) {
    return env.integer({ min: 1, max })
  },
  boolean() {
    return z.enum(['true', 'false'], { error: 'must be true or false' }).transform((value) => value === 'true')
  },
  mysqlUrl() {
    return z.string().refine(isMysqlUrl, { error: 'must look like mysql://user:password@host:port/database' })
  },
  mysqlUrls() {
    return z
      .string()
      .transform(splitList)
      .refine((urls) => urls.length > 0 && urls.every(isMysqlUrl), {
        error: 'must be a comma-separated list of mysql://user:password@host:port/database',
      })
  },
  hostPorts() {
    return z
      .string()
      .transform(splitList)
      .refine((list) => list.length > 0 && list.every((item) => /^[^\s:/]+:\d{1,5}$/.test(item)), {
        error: 'must be a comma-separated list of host:port',
      })
  },
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function isMysqlUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && url.protocol === 'mysql:' && url.hostname !== '' && url.pathname.length > 1
}

/**
 * Reads a typed configuration from environment variables. An empty variable counts as absent.
 * @throws ConfigError with a line for every variable that is missing or wrong: its name, what is expected, what was given (secrets masked).
 */
export function parseEnv<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  environment: Readonly<Record<string, string | undefined>>,
): z.output<z.ZodObject<Shape>> {
  const given = Object.fromEntries(
    Object.keys(schema.shape).map((name) => [name, environment[name] === '' ? undefined : environment[name]]),
  )
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0])
    const value = given[name]
    return value === undefined ? `${name} is missing` : `${name} ${issue.message}; it is ${JSON.stringify(maskSecret(name, value))}`
  })
  throw new ConfigError(faults)
}

/** Passwords inside URLs, and whole values whose name says that they are secret. */
export function maskSecret(name: string, value: string): string {
  return SECRET_NAME.test(name) ? '***' : value.replace(SECRET_IN_URL, '$1***@')
}
