import { z } from 'zod'
import type { Contract } from '../contract.ts'
import { ATTRIBUTES } from './attributes.ts'

/** What a contract asks of the envelope beyond what every command has. */
function attributesOf(contract: Contract): z.ZodObject {
  const type = z.literal(`onceledger.${contract.name}.v${contract.version}`)
  const { operationid, aggregateversion, ...rest } = ATTRIBUTES.shape
  const version = contract.order === 'none' ? aggregateversion : aggregateversion.unwrap().describe(aggregateversion.description ?? '')
  const others = { ...rest, aggregateversion: version }
  return contract.identity === 'operation'
    ? z.object({ ...others, type, operationid: operationid.unwrap().describe(operationid.description ?? '') })
    : z.object({ ...others, type, operationid: z.never().optional().describe('Not allowed: the event id judges.') })
}

/**
 * JSON Schema (draft 2020-12) of one command as a CloudEvent in structured mode, made from the definitions that validate. What JSON Schema cannot
 * say (bytes of an id, the range of an amount, the route) the decoder checks all the same.
 */
export function commandSchema(contract: Contract): Record<string, unknown> {
  const event = attributesOf(contract).extend({ data: contract.data })
  const schema = z.toJSONSchema(event, { io: 'input', unrepresentable: 'any' })
  return { ...schema, title: `onceledger.${contract.name}.v${contract.version}`, additionalProperties: true }
}
