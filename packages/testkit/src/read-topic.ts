import { randomUUID } from 'node:crypto'
import { resultsTopicOf } from '@onceledger/core'
import { loadProgress } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import kafkajs from 'kafkajs'
import type { TestLedger } from './test-ledger.ts'

export interface TopicMessage {
  readonly partition: number
  readonly key: string | null
  readonly value: string
  readonly timestampMs: number
}

const TIMEOUT_MS = 120_000

/** Everything that a topic of the ledger's holds now, of each partition in its order. */
export async function readTopic(ledger: Pick<TestLedger, 'admin' | 'kafkaBrokers' | 'name'>, topic: string): Promise<TopicMessage[]> {
  const bounds = await ledger.admin.topicOffsets(topic)
  const ends = new Map([...bounds].flatMap(([partition, { low, high }]) => (high > low ? [[partition, high]] : [])))
  const messages: TopicMessage[] = []
  if (ends.size === 0) return messages
  const kafka = new kafkajs.Kafka({ brokers: [...ledger.kafkaBrokers], clientId: ledger.name, logLevel: kafkajs.logLevel.NOTHING })
  const groupId = `read-${randomUUID()}`
  const consumer = kafka.consumer({ groupId, sessionTimeout: 6_000 })
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ partition, message: { key, value, offset, timestamp } }) => {
        const end = ends.get(partition)
        if (end === undefined) return
        messages.push({
          partition,
          key: key?.toString('utf8') ?? null,
          value: value?.toString('utf8') ?? '',
          timestampMs: Number(timestamp),
        })
        if (BigInt(offset) + 1n >= end) ends.delete(partition)
      },
    })
    await waitFor(() => ends.size === 0, { timeoutMs: TIMEOUT_MS, what: `all of ${topic} to be read` })
  } finally {
    await consumer.disconnect()
  }
  return messages
}

/** What has been published of a ledger's results so far. */
export function readResultMessages(ledger: TestLedger): Promise<TopicMessage[]> {
  return readTopic(ledger, resultsTopicOf(ledger.topic))
}

/** Waits until the databases remember every result of an applied message as acknowledged. */
export async function waitForPublished(ledger: Pick<TestLedger, 'databases' | 'topic'>): Promise<void> {
  await waitFor(
    async () => {
      const progress = (await Promise.all(ledger.databases.map((database) => loadProgress(database, ledger.topic)))).flat()
      return progress.every(({ nextOffset, publishedOffset }) => publishedOffset >= nextOffset)
    },
    { timeoutMs: TIMEOUT_MS, intervalMs: 100, what: 'all results to be published' },
  )
}
