import { type Kafka, type Message, Partitioners, type Producer } from 'kafkajs'
import { CommandLogError, describeError } from './errors.ts'
import { createKafka, type LogConnection, RETRY } from './kafka-client.ts'
import { type CommandLogLogger, SILENT_LOGGER } from './observer.ts'

export type HeaderValue = Uint8Array | string

/** A record to append. Without `partition` the key decides, as with any default partitioner (RTE-1). */
export interface OutgoingRecord {
  readonly key: Uint8Array | string | null
  readonly value: Uint8Array | string | null
  /** Several values of one name where a list is given. */
  readonly headers?: Readonly<Record<string, HeaderValue | readonly HeaderValue[]>>
  readonly partition?: number
}

/** Where the first record of one request to a partition came to stand. baseOffset is null if the broker did not say. */
export interface AppendedRange {
  readonly partition: number
  readonly baseOffset: bigint | null
}

export interface CommandProducer {
  /**
   * Appends all records, in bounded requests, in order, acknowledged by all in-sync replicas. On failure an unknown part of them may have
   * been appended: the caller sends again, and the receiver knows duplicates by their identity.
   * @throws CommandLogError RECORD_TOO_LARGE before anything is sent; REQUEST_FAILED when the retries are spent; CLOSED.
   */
  send(topic: string, records: readonly OutgoingRecord[]): Promise<AppendedRange[]>
  close(): Promise<void>
}

export interface ProducerOptions extends LogConnection {
  readonly logger?: CommandLogLogger
  /** Bytes of one request, below the broker's message.max.bytes. Default 768 KiB. */
  readonly maxRequestBytes?: number
}

/** Of one record: offsets, lengths, header count. An estimate from above. */
const RECORD_OVERHEAD_BYTES = 32

/** Idempotent, one request in flight: a plain producer duplicates when only part of a request fails. */
export function createCommandProducer(options: ProducerOptions): CommandProducer {
  const kafka = createKafka(options, options.logger ?? SILENT_LOGGER)
  const maxRequestBytes = options.maxRequestBytes ?? 768 * 1024
  const lines = new Map<string, TopicLine>()
  let isClosed = false

  return {
    async send(topic, records) {
      if (isClosed) throw new CommandLogError('CLOSED', 'the producer is closed')
      const requests = splitRequests(records, maxRequestBytes)
      const line = lines.get(topic) ?? new TopicLine(kafka, topic)
      lines.set(topic, line)
      return line.append(requests)
    },
    async close() {
      isClosed = true
      await Promise.all([...lines.values()].map((line) => line.close()))
    },
  }
}

/** Sends to one topic, one call after another. A topic has its own client: one that was deleted would block the metadata of all others. */
class TopicLine {
  readonly #kafka: Kafka
  readonly #topic: string
  #producer: Promise<Producer> | null = null
  #last: Promise<unknown> = Promise.resolve()

  constructor(kafka: Kafka, topic: string) {
    this.#kafka = kafka
    this.#topic = topic
  }

  append(requests: readonly Message[][]): Promise<AppendedRange[]> {
    const appended = this.#last.then(() => this.#append(requests))
    this.#last = appended.catch(() => {})
    return appended
  }

  async close(): Promise<void> {
    await this.#last
    await this.#discard()
  }

  async #append(requests: readonly Message[][]): Promise<AppendedRange[]> {
    const ranges: AppendedRange[] = []
    try {
      this.#producer ??= connect(this.#kafka)
      const producer = await this.#producer
      for (const messages of requests) {
        const answers = await producer.send({ topic: this.#topic, acks: -1, messages })
        for (const { partition, baseOffset } of answers) {
          ranges.push({ partition, baseOffset: baseOffset === undefined ? null : BigInt(baseOffset) })
        }
      }
    } catch (cause) {
      await this.#discard()
      throw new CommandLogError('REQUEST_FAILED', `${this.#topic} did not take the records: ${describeError(cause)}`, { cause })
    }
    return ranges
  }

  /** A producer that failed is replaced: its sequence numbers, or a topic deleted since, could make it fail for ever. */
  async #discard(): Promise<void> {
    const failed = this.#producer
    this.#producer = null
    await failed?.then((producer) => producer.disconnect()).catch(() => {})
  }
}

async function connect(kafka: Kafka): Promise<Producer> {
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
    retry: RETRY,
  })
  await producer.connect()
  return producer
}

/** @throws CommandLogError RECORD_TOO_LARGE */
export function splitRequests(records: readonly OutgoingRecord[], maxRequestBytes: number): Message[][] {
  const requests: Message[][] = []
  let request: Message[] = []
  let requestBytes = 0
  for (const record of records) {
    const sizeBytes = outgoingSizeBytes(record)
    if (sizeBytes > maxRequestBytes) {
      throw new CommandLogError('RECORD_TOO_LARGE', `a record of ${sizeBytes} bytes exceeds the limit of ${maxRequestBytes}`)
    }
    if (requestBytes + sizeBytes > maxRequestBytes && request.length > 0) {
      requests.push(request)
      request = []
      requestBytes = 0
    }
    request.push(messageOf(record))
    requestBytes += sizeBytes
  }
  if (request.length > 0) requests.push(request)
  return requests
}

function messageOf({ key, value, headers, partition }: OutgoingRecord): Message {
  const message: Message = { key: key === null ? null : bufferOf(key), value: value === null ? null : bufferOf(value) }
  if (headers !== undefined)
    message.headers = Object.fromEntries(Object.entries(headers).map(([name, content]) => [name, headerOf(content)]))
  if (partition !== undefined) message.partition = partition
  return message
}

function headerOf(value: HeaderValue | readonly HeaderValue[]): Buffer | Buffer[] {
  return isList(value) ? value.map(bufferOf) : bufferOf(value)
}

function isList(value: HeaderValue | readonly HeaderValue[]): value is readonly HeaderValue[] {
  return Array.isArray(value)
}

function bufferOf(bytes: Uint8Array | string): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes, 'utf8')
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function outgoingSizeBytes({ key, value, headers }: OutgoingRecord): number {
  let sizeBytes = RECORD_OVERHEAD_BYTES + lengthOf(key) + lengthOf(value)
  for (const name in headers) {
    const content = headers[name] ?? ''
    for (const each of isList(content) ? content : [content]) sizeBytes += Buffer.byteLength(name) + lengthOf(each) + 8
  }
  return sizeBytes
}

function lengthOf(bytes: Uint8Array | string | null): number {
  if (bytes === null) return 0
  return typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.byteLength
}
