import { type MessageToProduce, Producer } from '@platformatic/kafka'
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
const REQUEST_TIMEOUT_MS = 15_000
/** Bound on a whole call, whatever the client does with its retries. */
const SEND_TIMEOUT_MS = 30_000
const CLOSE_TIMEOUT_MS = 5_000

type ByteProducer = Producer<Buffer, Buffer, Buffer, Buffer>
type Message = MessageToProduce<Buffer, Buffer, Buffer, Buffer> & { readonly partition: number; readonly value: Buffer }

/** One request at a time, so that nothing overtakes. After a failure the client is replaced: what it remembers may make it fail for ever. */
export function createResultProducer(options: ResultProducerOptions): ResultProducer {
  const headers = new Map([[Buffer.from('content-type'), Buffer.from(options.contentType)]])
  let producer: ByteProducer | null = null
  let isClosed = false
  let last: Promise<unknown> = Promise.resolve()

  async function append(topic: string, records: readonly PlacedRecord[]): Promise<void> {
    producer ??= connect(options)
    try {
      const messages = records.map((record): Message => toMessage(topic, record, headers))
      for (const request of requestsOf(messages)) await within(producer.send({ messages: [...request], acks: -1 }), SEND_TIMEOUT_MS)
    } catch (cause) {
      await discard()
      throw new CommandLogError('REQUEST_FAILED', `${topic} did not take the records: ${describeError(cause)}`, { cause })
    }
  }

  async function discard(): Promise<void> {
    const failed = producer
    producer = null
    if (failed === null) return
    // A client that failed may not be able to say goodbye either; its connections end with the process at the latest.
    await within(failed.close(true), CLOSE_TIMEOUT_MS).catch(() => {})
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
    requestTimeout: requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    autocreateTopics: false,
  })
}

/** Bytes of one partition in one request: they become one record batch, which must stay below the broker's message.max.bytes (1 MiB). */
const PARTITION_BYTES_MAX = 700 * 1024
/** Of one record: lengths, timestamps and headers. An estimate from above. */
const RECORD_OVERHEAD_BYTES = 80

/** Cuts a list where a partition's part would become too large for one request. */
function requestsOf(messages: readonly Message[]): (readonly Message[])[] {
  let totalBytes = 0
  for (const message of messages) totalBytes += sizeOf(message)
  if (totalBytes <= PARTITION_BYTES_MAX) return [messages]
  const requests: Message[][] = []
  let request: Message[] = []
  let sizes = new Map<number, number>()
  for (const message of messages) {
    const sizeBytes = sizeOf(message)
    const before = sizes.get(message.partition) ?? 0
    if (before + sizeBytes > PARTITION_BYTES_MAX && request.length > 0) {
      requests.push(request)
      request = []
      sizes = new Map()
    }
    sizes.set(message.partition, (sizes.get(message.partition) ?? 0) + sizeBytes)
    request.push(message)
  }
  requests.push(request)
  return requests
}

function sizeOf({ key, value }: Message): number {
  return value.length + (key?.length ?? 0) + RECORD_OVERHEAD_BYTES
}

function toMessage(topic: string, { partition, key, value }: PlacedRecord, headers: Map<Buffer, Buffer>): Message {
  if (key === null) return { topic, partition, value: bufferOf(value), headers }
  return { topic, partition, key: bufferOf(key), value: bufferOf(value), headers }
}

/** @throws Error past the time; what was begun is not cancelled. */
async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const expired = Promise.withResolvers<never>()
  const timer = setTimeout(() => expired.reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
  try {
    return await Promise.race([work, expired.promise])
  } finally {
    clearTimeout(timer)
  }
}

function bufferOf(bytes: Uint8Array | string): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes, 'utf8')
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
