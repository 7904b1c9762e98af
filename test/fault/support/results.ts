import { readResultMessages, type TestLedger } from '@onceledger/testkit'
import { z } from 'zod'

const FIRST = z.object({
  verdict: z.enum(['APPLIED', 'REJECTED']),
  reason: z.string().nullable(),
  currency: z.string().nullable(),
  amount: z.string(),
  balanceAfter: z.string(),
  accountVersion: z.string(),
  committedAt: z.string(),
})

const RESULT = z.object({
  id: z.string(),
  source: z.string(),
  type: z.literal('onceledger.result.v1'),
  tenantid: z.string().optional(),
  businesskey: z.string().optional(),
  data: z.object({
    verdict: z.string(),
    reason: z.string().nullable(),
    command: z.object({
      type: z.string().nullable(),
      id: z.string().nullable(),
      operationid: z.string().nullable(),
      aggregateversion: z.string().nullable(),
      topic: z.string(),
      partition: z.int(),
      offset: z.string(),
    }),
    first: FIRST.nullable(),
  }),
})

export type PublishedResult = z.output<typeof RESULT> & { readonly partition: number; readonly key: string | null }

/** Everything that the results topic holds, of each partition in its order. */
export async function readResults(ledger: TestLedger): Promise<PublishedResult[]> {
  const messages = await readResultMessages(ledger)
  return messages.map(({ partition, key, value }) => ({ ...RESULT.parse(JSON.parse(value)), partition, key }))
}

/** What a consumer has that drops results whose id it has seen. */
export function withoutRepeats(results: readonly PublishedResult[]): PublishedResult[] {
  const seen = new Set<string>()
  return results.filter(({ id }) => {
    const fresh = !seen.has(id)
    seen.add(id)
    return fresh
  })
}
