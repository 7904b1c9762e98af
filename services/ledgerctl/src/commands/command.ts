import { randomBytes } from 'node:crypto'
import { encodeCommand } from '@onceledger/core'
import { z } from 'zod'
import { CommandFailed, EXIT } from '../exit.ts'

export interface CommandOptions {
  readonly type: string
  readonly tenant: string
  readonly key: string
  readonly operation?: string
  readonly event?: string
  /** For contracts with an order: the version that the command produces. */
  readonly aggregateVersion?: bigint
  readonly data: string
}

const DATA = z.record(z.string(), z.string())

/** One command as a line for `submit`. @throws CommandFailed where --data is no JSON object of strings. */
export function commandLine(options: CommandOptions, nowMs: number): string {
  return encodeCommand({
    type: options.type.replace(/^onceledger\./, ''),
    tenantId: options.tenant,
    businessKey: options.key,
    eventId: options.event ?? freshUuidv7(nowMs),
    ...(options.operation === undefined ? {} : { operationId: options.operation }),
    ...(options.aggregateVersion === undefined ? {} : { aggregateVersion: options.aggregateVersion }),
    source: '/onceledger/ledgerctl',
    time: new Date(nowMs).toISOString(),
    data: parseData(options.data),
  }).value
}

function parseData(text: string): Record<string, string> {
  let candidate: unknown
  try {
    candidate = JSON.parse(text)
  } catch (error) {
    throw new CommandFailed(EXIT.refused, `--data is not JSON: ${String(error)}`)
  }
  const parsed = DATA.safeParse(candidate)
  if (parsed.success) return parsed.data
  throw new CommandFailed(
    EXIT.refused,
    '--data must be a JSON object whose members are strings; amounts too: {"amount":"100","currency":"EUR"}',
  )
}

/** RFC 9562 section 5.7. */
function freshUuidv7(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, '0')
  const random = randomBytes(10).toString('hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`
}
