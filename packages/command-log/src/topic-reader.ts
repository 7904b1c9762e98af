import { randomUUID } from 'node:crypto'
import { CommandLogError, describeError } from './errors.ts'
import { createKafka, type LogConnection } from './kafka-client.ts'
import { SILENT_LOGGER } from './observer.ts'

export interface TopicMessage {
  readonly partition: number
  readonly offset: bigint
  readonly key: string | null
  readonly value: string
}

export interface TopicReaderOptions extends LogConnection {
  readonly topic: string
  /** Where to begin, by partition; a partition that is not named begins where the topic does. */
  readonly from: ReadonlyMap<number, bigint>
  readonly onMessage: (message: TopicMessage) => void
}

export interface TopicReader {
  /** Leaves nothing behind, not even its group. */
  close(): Promise<void>
}

const SESSION_TIMEOUT_MS = 10_000

/**
 * Reads a topic on, each partition in its order: for a person who waits for answers, not for a service.
 * @throws CommandLogError REQUEST_FAILED
 */
export async function openTopicReader(options: TopicReaderOptions): Promise<TopicReader> {
  const { topic, from, onMessage } = options
  const kafka = createKafka(options, SILENT_LOGGER)
  const groupId = `onceledger-reader-${randomUUID()}`
  const consumer = kafka.consumer({ groupId, sessionTimeout: SESSION_TIMEOUT_MS, allowAutoTopicCreation: false })
  async function close(): Promise<void> {
    await consumer.disconnect()
    const admin = kafka.admin()
    await admin.connect()
    // A group that nobody is in any more would be forgotten by the broker itself after some days.
    await admin.deleteGroups([groupId]).catch(() => {})
    await admin.disconnect()
  }
  try {
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message: { offset, key, value } }) => {
        if (BigInt(offset) < (from.get(partition) ?? 0n)) return
        onMessage({ partition, offset: BigInt(offset), key: key?.toString('utf8') ?? null, value: value?.toString('utf8') ?? '' })
      },
    })
    for (const [partition, offset] of from) consumer.seek({ topic, partition, offset: offset.toString() })
    return { close }
  } catch (cause) {
    await close().catch(() => {})
    throw new CommandLogError('REQUEST_FAILED', `${topic} cannot be read: ${describeError(cause)}`, { cause })
  }
}
