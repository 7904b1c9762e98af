import { Producer } from '@platformatic/kafka'
import { CommandLogError, describeError } from './errors.ts'
import type { LogConnection } from './kafka-client.ts'

/** A record whose partition its sender knows. */
export interface PlacedRecord {
  readonly partition: number
  readonly key: Uint8Array | string | null
  readonly value: Uint8Array | string
}

export interface ResultProducer {
  /**
   * Appends all records, of each partition in order, acknowledged by all in-sync replicas. On failure an unknown part of them may have been
   * appended: the caller sends all of them again, and readers know repeats by their ids.
   * @throws CommandLogError REQUEST_FAILED when the retries are spent; CLOSED.
   */
  send(topic: string, records: readonly PlacedRecord[]): Promise<void>
  close(): Promise<void>
}

export interface ResultProducerOptions extends LogConnection {
  /** Carried by every record. */
  readonly contentType: string
}

const RETRIES = 5
const RETRY_DELAY_MS = 200

type ByteProducer = Producer<Buffer, Buffer, Buffer, Buffer>

/** One request at a time, so that nothing overtakes. After a failure the client is replaced: what it remembers may make it fail for ever. */
export function createResultProducer(options: ResultProducerOptions): ResultProducer {
  const headers = new Map([[Buffer.from('content-type'), Buffer.from(options.contentType)]])
  let producer: ByteProducer | null = null
  let isClosed = false
  let last: Promise<unknown> = Promise.resolve()

  async function append(topic: string, records: readonly PlacedRecord[]): Promise<void> {
    producer ??= connect(options)
    try {
      const messages = records.map(({ partition, key, value }) => ({
        topic,
        partition,
        value: bufferOf(value),
        headers,
        ...(key === null ? {} : { key: bufferOf(key) }),
      }))
      await producer.send({ messages, acks: -1 })
    } catch (cause) {
      await discard()
      throw new CommandLogError('REQUEST_FAILED', `${topic} did not take the records: ${describeError(cause)}`, { cause })
    }
  }

  async function discard(): Promise<void> {
    const failed = producer
    producer = null
    await failed?.close(true).catch(() => {})
  }

  return {
    async send(topic, records) {
      if (isClosed) throw new CommandLogError('CLOSED', 'the producer is closed')
      const mine = last.then(() => append(topic, records))
      last = mine.catch(() => {})
      return mine
    },
    async close() {
      isClosed = true
      await last
      await discard()
    },
  }
}

function connect({ brokers, clientId, connectTimeoutMs, requestTimeoutMs }: ResultProducerOptions): ByteProducer {
  return new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId,
    bootstrapBrokers: [...brokers],
    idempotent: true,
    retries: RETRIES,
    retryDelay: RETRY_DELAY_MS,
    connectTimeout: connectTimeoutMs ?? 5_000,
    requestTimeout: requestTimeoutMs ?? 30_000,
    autocreateTopics: false,
  })
}

function bufferOf(bytes: Uint8Array | string): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes, 'utf8')
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
