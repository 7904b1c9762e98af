import { z } from 'zod'
import { InvalidCommand } from '../errors.ts'

const present = (what: string) => z.string({ error: `${what} must be a string` }).min(1, { error: `${what} must not be empty` })

/** CloudEvents integers are 32 bits wide; a larger version travels as a string of digits. */
const aggregateVersion = z.union([z.int().positive(), z.string().regex(/^[1-9]\d{0,18}$/)], {
  error: 'aggregateversion must be a positive integer, or a string of decimal digits',
})

/** The attributes that a command must or may have (CloudEvents 1.0.2, section 3); others are ignored. */
export const ATTRIBUTES = z.object({
  specversion: z.literal('1.0', { error: 'specversion must be "1.0"' }),
  id: present('id').describe('event_id: the identity of this message as it travels. A redelivery keeps it.'),
  source: present('source').describe('Who sent the command, a URI reference.'),
  type: present('type').describe('`onceledger.<contract>.v<version>`'),
  tenantid: present('tenantid'),
  businesskey: present('businesskey').describe('The aggregate that the command belongs to; for money the account.'),
  operationid: present('operationid').optional().describe('The identity of the intent. A retry keeps it, a timeout never changes it.'),
  aggregateversion: aggregateVersion.optional().describe('The version that the command produces, for contracts with an order.'),
  partitionkey: present('partitionkey').optional().describe('`tenantid/businesskey`, as the Kafka key.'),
})
export type Attributes = z.output<typeof ATTRIBUTES>

/** @throws InvalidCommand `ENVELOPE_INVALID` naming the attribute. */
export function parseAttributes(candidate: unknown): Attributes {
  const parsed = ATTRIBUTES.safeParse(candidate)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const name = issue?.path.join('.') ?? ''
  throw new InvalidCommand('ENVELOPE_INVALID', `attribute ${name}: ${issue?.message ?? 'invalid'}`)
}
