import { randomUUID } from 'node:crypto'
import { resultsTopicOf } from '@onceledger/core'
import { loadProgress } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import type { TestLedger } from '@onceledger/testkit'
import kafkajs from 'kafkajs'
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

const TIMEOUT_MS = 60_000

/** Waits until the database remembers every result as acknowledged. */
export async function waitForPublished(ledger: TestLedger): Promise<void> {
  await waitFor(
    async () => {
      const progress = (await Promise.all(ledger.databases.map((database) => loadProgress(database, ledger.topic)))).flat()
      return progress.every(({ nextOffset, publishedOffset }) => publishedOffset >= nextOffset)
    },
    { timeoutMs: TIMEOUT_MS, intervalMs: 100, what: 'all results to be published' },
  )
}

/** Everything that the results topic holds, of each partition in its order. */
export async function readResults(ledger: TestLedger): Promise<PublishedResult[]> {
  const topic = resultsTopicOf(ledger.topic)
  const bounds = await ledger.admin.topicOffsets(topic)
  const missing = new Map([...bounds].flatMap(([partition, { low, high }]) => (high > low ? [[partition, high - low]] : [])))
  const results: PublishedResult[] = []
  if (missing.size === 0) return results
  const kafka = new kafkajs.Kafka({ brokers: [...ledger.kafkaBrokers], clientId: ledger.name, logLevel: kafkajs.logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId: `read-results-${randomUUID()}`, sessionTimeout: 6_000 })
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ partition, message }) => {
        const value = RESULT.parse(JSON.parse(message.value?.toString('utf8') ?? ''))
        results.push({ ...value, partition, key: message.key?.toString('utf8') ?? null })
        missing.set(partition, (missing.get(partition) ?? 0n) - 1n)
      },
    })
    await waitFor(() => [...missing.values()].every((left) => left <= 0n), { timeoutMs: TIMEOUT_MS, what: 'the results to be read' })
  } finally {
    await consumer.disconnect()
  }
  return results
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
