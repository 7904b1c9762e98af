import { z } from 'zod'
import { ConfigError } from './errors.ts'
import { maskRefusedValue } from './mask-secret.ts'

const DURATION_DEFAULT_MAX_MS = 86_400_000
const PORT_MAX = 65_535
const HOST_PORT = /^(?:[^\s:/[\]]+|\[[0-9a-f:.]+\]):(\d{1,5})$/i

/** Schemas for what environment variables hold: always text on their way in. */
export const env = {
  integer({ min, max }: { min: number; max: number }) {
    return z
      .string()
      .regex(/^-?\d{1,15}$/, { error: `must be a whole number from ${min} to ${max}`, abort: true })
      .transform(Number)
      .refine((value) => value >= min && value <= max, { error: `must lie between ${min} and ${max}` })
      .describe(`must be a whole number from ${min} to ${max}`)
  },
  /** A TCP port; 0 lets the system choose. */
  port() {
    return env.integer({ min: 0, max: PORT_MAX })
  },
  durationMs({ max = DURATION_DEFAULT_MAX_MS }: { max?: number } = {}) {
    return env.integer({ min: 1, max })
  },
  boolean() {
    const expected = 'must be true or false'
    return z
      .enum(['true', 'false'], { error: expected })
      .transform((value) => value === 'true')
      .describe(expected)
  },
  mysqlUrl() {
    const expected = 'must look like mysql://user:password@host:port/database'
    return z.string().refine(isMysqlUrl, { error: expected }).describe(expected)
  },
  mysqlUrls() {
    const expected = 'must be a comma-separated list of mysql://user:password@host:port/database'
    return z
      .string()
      .transform(splitList)
      .refine((urls) => urls.length > 0 && urls.every(isMysqlUrl), { error: expected })
      .describe(expected)
  },
  hostPorts() {
    const expected = 'must be a comma-separated list of host:port'
    return z
      .string()
      .transform(splitList)
      .refine((list) => list.length > 0 && list.every(isHostPort), { error: expected })
      .describe(expected)
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

function isHostPort(text: string): boolean {
  const port = Number(HOST_PORT.exec(text)?.[1] ?? 0)
  return port >= 1 && port <= PORT_MAX
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
  throw new ConfigError(parsed.error.issues.map((issue) => describeFault(schema, given, issue)))
}

function describeFault(schema: z.ZodObject, given: Readonly<Record<string, string | undefined>>, issue: z.core.$ZodIssue): string {
  const [first] = issue.path
  // A rule about several variables together, such as a window that must be longer than another, names them itself.
  if (first === undefined) return issue.message
  const name = String(first)
  const value = given[name]
  if (value !== undefined) return `${name} ${issue.message}; it is ${JSON.stringify(maskRefusedValue(name, value))}`
  const expected = z.globalRegistry.get(schema.shape[name] ?? z.never())?.description
  return expected === undefined ? `${name} is missing` : `${name} is missing; it ${expected}`
}
