import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import {
  type CommandConsumer,
  type ConsumerOptions,
  createCommandConsumer,
  createCommandProducer,
  createLogAdmin,
  type HandleOutcome,
  type PartitionBatch,
  type PartitionState,
} from '@onceledger/command-log'
import { recordDigest, type SourceRecord } from '@onceledger/core'

const BROKERS = (process.env.ONCELEDGER_KAFKA_BROKERS ?? '').split(',').filter((broker) => broker !== '')
const CONNECTION = { brokers: BROKERS, clientId: 'command-log-test' }
const TIMEOUT_MS = 60_000

/** What only a test does to a log: transactions, and removing records as retention would. */
const kafka = new Kafka({ ...CONNECTION, brokers: [...BROKERS], logLevel: logLevel.NOTHING, retry: { retries: 10, initialRetryTime: 100 } })

const admin = createLogAdmin(CONNECTION)
const producer = createCommandProducer(CONNECTION)
const running: CommandConsumer[] = []
const topics: string[] = []

async function until(what: string, isTrue: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!(await isTrue())) {
    if (performance.now() > deadlineMs) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await delay(20)
  }
}

async function newTopic(partitions: number): Promise<string> {
  const topic = `command-log-${randomUUID()}`
  topics.push(topic)
  await admin.ensureTopic({ topic, partitions, retentionMs: -1 })
  return topic
}

function valuesOf(partition: number, from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, at) => `${partition}:${from + at}`)
}

async function removeBefore(topic: string, partition: number, offset: string): Promise<void> {
  const raw = kafka.admin()
  await raw.connect()
  // kafkajs does not load the topic's metadata for the next call by itself.
  await raw.fetchTopicOffsets(topic)
  await raw.deleteTopicRecords({ topic, partitions: [{ partition, offset }] })
  await raw.disconnect()
}

/** Each transaction leaves a marker behind, which takes an offset; an aborted one leaves its records too. */
async function appendTransactions(topic: string, values: readonly string[]): Promise<void> {
  const raw = kafka.producer({ transactionalId: randomUUID(), maxInFlightRequests: 1, idempotent: true })
  await raw.connect()
  for (const value of values) {
    const transaction = await raw.transaction()
    await transaction.send({ topic, messages: [{ partition: 0, value }] })
    await (value.startsWith('aborted') ? transaction.abort() : transaction.commit())
  }
  await raw.disconnect()
}

async function append(topic: string, partition: number, values: readonly string[]): Promise<void> {
  await producer.send(
    topic,
    values.map((value) => ({ key: `key-${partition}`, value, partition })),
  )
}

function textOf(record: SourceRecord): string {
  return Buffer.from(record.value ?? []).toString('utf8')
}

/** A handler with a memory that stands for the shard's database: what is finished, in order, and the position of each partition. */
class Store {
  readonly finished = new Map<number, string[]>()
  readonly offsets = new Map<number, { nextOffset: bigint; lastDigest: Uint8Array }>()
  readonly states: [number, PartitionState][] = []

  startOf: ConsumerOptions['startOf'] = async (partition) => {
    const applied = this.offsets.get(partition)
    return applied === undefined ? { kind: 'beginning' } : { kind: 'applied', ...applied }
  }

  handle = async (batch: PartitionBatch): Promise<HandleOutcome> => {
    const applied = this.offsets.get(batch.partition)
    if (applied !== undefined && applied.nextOffset !== batch.expectedOffset) return { kind: 'seek', ...applied }
    const last = batch.records.at(-1)
    if (last === undefined) throw new Error('an empty batch')
    const nextOffset = last.position.offset + 1n
    this.offsets.set(batch.partition, { nextOffset, lastDigest: recordDigest(last) })
    this.finished.set(batch.partition, [...this.of(batch.partition), ...batch.records.map(textOf)])
    return { kind: 'done', nextOffset }
  }

  of(partition: number): string[] {
    return this.finished.get(partition) ?? []
  }

  get total(): number {
    return [...this.finished.values()].reduce((sum, values) => sum + values.length, 0)
  }

  stateOf(partition: number): PartitionState | undefined {
    return this.states.findLast(([at]) => at === partition)?.[1]
  }
}

async function join(topic: string, store: Store, options: Partial<ConsumerOptions> = {}): Promise<CommandConsumer> {
  const consumer = createCommandConsumer({
    ...CONNECTION,
    topic,
    groupId: `group-${topic}`,
    heartbeatIntervalMs: 200,
    ownedPartitions: async () => [...(await admin.topicOffsets(topic)).keys()],
    startOf: store.startOf,
    handle: store.handle,
    onPartitionState: (partition, state) => store.states.push([partition, state]),
    ...options,
  })
  running.push(consumer)
  await consumer.start()
  return consumer
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((consumer) => consumer.stop({ timeoutMs: 5000 })))
  await Promise.all(topics.splice(0).map((topic) => admin.deleteTopic(topic)))
}, TIMEOUT_MS)

afterAll(async () => {
  await producer.close()
})

describe('command consumer', { timeout: TIMEOUT_MS }, () => {
  it('[ADJ-8] every record is handled once, in order per partition', async () => {
    const topic = await newTopic(4)
    const store = new Store()
    await join(topic, store, { limits: { maxBatchRecords: 100, maxQueuedRecords: 250 } })
    for (const round of [0, 1, 2]) await Promise.all([0, 1, 2, 3].map((p) => append(topic, p, valuesOf(p, round * 500, round * 500 + 500))))
    await until('all records handled', () => store.total >= 6000)
    for (const p of [0, 1, 2, 3]) expect(store.of(p)).toEqual(valuesOf(p, 0, 1500))
  })

  it('[RTE-1] only owned partitions are assigned, and the rest to nobody', async () => {
    const topic = await newTopic(6)
    const store = new Store()
    const owned = { ownedPartitions: async () => [1, 4, 5, 99] }
    const members = [await join(topic, store, owned), await join(topic, store, owned)]
    await Promise.all([0, 1, 2, 3, 4, 5].map((p) => append(topic, p, valuesOf(p, 0, 10))))
    await until('owned records handled', () => store.total >= 30)
    await until('three partitions shared', () => members.flatMap((member) => member.stats()).length === 3)
    expect(members.flatMap((member) => member.stats().map(({ partition }) => partition)).toSorted((left, right) => left - right)).toEqual([
      1, 4, 5,
    ])
    expect([...store.finished.keys()].toSorted((left, right) => left - right)).toEqual([1, 4, 5])
  })

  it('[ADJ-8] two members share the partitions, one leaves, and nothing is lost or handled twice', async () => {
    const topic = await newTopic(8)
    const store = new Store()
    const all = [0, 1, 2, 3, 4, 5, 6, 7]
    const first = await join(topic, store)
    await Promise.all(all.map((p) => append(topic, p, valuesOf(p, 0, 200))))
    const second = await join(topic, store)
    await until('four partitions each', () => first.stats().length === 4 && second.stats().length === 4)
    await Promise.all(all.map((p) => append(topic, p, valuesOf(p, 200, 400))))
    await second.stop({ timeoutMs: 5000 })
    await until('eight partitions again', () => first.stats().length === 8)
    await Promise.all(all.map((p) => append(topic, p, valuesOf(p, 400, 600))))
    await until('all records handled', () => store.total >= 4800)
    for (const p of all) expect(store.of(p)).toEqual(valuesOf(p, 0, 600))
    expect(await second.closed).toBeUndefined()
  })

  it('[ADJ-8] a partly finished batch is handed out again from its first unfinished record', async () => {
    const topic = await newTopic(1)
    const store = new Store()
    const seen: string[][] = []
    await append(topic, 0, valuesOf(0, 0, 10))
    await join(topic, store, {
      handle: async (batch) => {
        seen.push(batch.records.map(textOf))
        const part = batch.records.slice(0, 4)
        return store.handle({ ...batch, records: part })
      },
    })
    await until('all records handled', () => store.total >= 10)
    expect(store.of(0)).toEqual(valuesOf(0, 0, 10))
    expect(seen.map((values) => values[0])).toEqual(['0:0', '0:4', '0:8'])
  })

  it('[ADJ-8] a position that the database moved back is read again from there', async () => {
    const topic = await newTopic(1)
    const store = new Store()
    await append(topic, 0, valuesOf(0, 0, 20))
    await join(topic, store, { limits: { maxBatchRecords: 10 } })
    await until('all records handled', () => store.total >= 20)
    const records: SourceRecord[] = []
    const probe = new Store()
    await join(topic, probe, { groupId: `probe-${topic}`, handle: async (batch) => (records.push(...batch.records), probe.handle(batch)) })
    await until('records known', () => records.length === 20)
    const fifth = records[4]
    if (fifth === undefined) throw new Error('no fifth record')
    store.offsets.set(0, { nextOffset: 5n, lastDigest: recordDigest(fifth) })
    store.finished.set(0, valuesOf(0, 0, 5))
    await append(topic, 0, valuesOf(0, 20, 21))
    await until('read again', () => store.total >= 21)
    expect(store.of(0)).toEqual(valuesOf(0, 0, 21))
  })

  it('[ADJ-8] a topic created again breaks its partition, which is reported and never skipped, while others go on', async () => {
    const topic = await newTopic(2)
    const store = new Store()
    const first = await join(topic, store)
    await Promise.all([0, 1].map((p) => append(topic, p, valuesOf(p, 0, 10))))
    await until('all records handled', () => store.total >= 20)
    await first.stop({ timeoutMs: 5000 })
    await admin.deleteTopic(topic)
    await admin.ensureTopic({ topic, partitions: 2, retentionMs: -1 })
    store.offsets.delete(1)
    await Promise.all([0, 1].map((p) => append(topic, p, valuesOf(p, 100, 130))))
    await join(topic, store)
    await until('the untouched partition goes on', () => store.of(1).length === 40)
    await until('broken', () => store.stateOf(0)?.state === 'broken')
    expect(store.stateOf(0)?.reason).toContain('DIGEST_MISMATCH')
    expect(store.of(0)).toEqual(valuesOf(0, 0, 10))
  })

  it('[ADJ-8] a position beyond the end of the log breaks its partition', async () => {
    const topic = await newTopic(1)
    const store = new Store()
    store.offsets.set(0, { nextOffset: 7n, lastDigest: new Uint8Array(32) })
    await append(topic, 0, valuesOf(0, 0, 3))
    await join(topic, store)
    await until('broken', () => store.stateOf(0)?.state === 'broken')
    expect(store.stateOf(0)?.reason).toContain('BEYOND_END')
    expect(store.total).toBe(0)
  })

  it('[ADJ-8] unread records that retention removed break the partition; a removed applied one does not', async () => {
    const topic = await newTopic(2)
    const store = new Store()
    const first = await join(topic, store)
    await Promise.all([0, 1].map((p) => append(topic, p, valuesOf(p, 0, 10))))
    await until('all records handled', () => store.total >= 20)
    await first.stop({ timeoutMs: 5000 })
    await Promise.all([0, 1].map((p) => append(topic, p, valuesOf(p, 10, 20))))
    await removeBefore(topic, 0, '11')
    await removeBefore(topic, 1, '10')
    await join(topic, store)
    await until('broken', () => store.stateOf(0)?.state === 'broken')
    await until('the other goes on', () => store.of(1).length === 20)
    expect(store.stateOf(0)?.reason).toContain('LOST_BY_RETENTION')
    expect(store.of(0)).toEqual(valuesOf(0, 0, 10))
    expect(store.of(1)).toEqual(valuesOf(1, 0, 20))
  })

  it('[ADJ-8] holes in the offsets, as transactions leave them, are read over, and over a restart too', async () => {
    const topic = await newTopic(1)
    const store = new Store()
    const first = await join(topic, store)
    await appendTransactions(topic, ['a', 'aborted 1', 'b'])
    await until('two committed', () => store.total >= 2)
    await first.stop({ timeoutMs: 5000 })
    await appendTransactions(topic, ['aborted 2', 'c', 'd', 'aborted 3'])
    await join(topic, store)
    await until('two more committed', () => store.total >= 4)
    await appendTransactions(topic, ['e'])
    await until('one more committed', () => store.total >= 5)
    expect(store.of(0)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('[ADJ-8] a restart goes on where the database stopped, not where Kafka thinks', async () => {
    const topic = await newTopic(1)
    const store = new Store()
    await append(topic, 0, valuesOf(0, 0, 10))
    const first = await join(topic, store, { limits: { maxBatchRecords: 5 } })
    await until('all records handled', () => store.total >= 10)
    await first.stop({ timeoutMs: 5000 })
    await append(topic, 0, valuesOf(0, 10, 20))
    const starts: bigint[] = []
    await join(topic, store, { handle: async (batch) => (starts.push(batch.expectedOffset), store.handle(batch)) })
    await until('the rest handled', () => store.total >= 20)
    expect(starts[0]).toBe(10n)
    expect(store.of(0)).toEqual(valuesOf(0, 0, 20))
  })

  it('[ADJ-8] from the group offset, records that were not committed come again', async () => {
    const topic = await newTopic(1)
    const store = new Store()
    const seen: string[] = []
    const redelivery: Partial<ConsumerOptions> = {
      startOf: async () => ({ kind: 'group-offset' }),
      handle: async (batch) => {
        seen.push(...batch.records.map(textOf))
        const last = batch.records.at(-1)
        return last === undefined || last.position.offset >= 10n
          ? { kind: 'pause', retryAfterMs: 60_000, reason: 'test' }
          : { kind: 'done', nextOffset: last.position.offset + 1n }
      },
    }
    await append(topic, 0, valuesOf(0, 0, 5))
    const first = await join(topic, store, redelivery)
    await until('the first five', () => seen.length === 5)
    await append(topic, 0, valuesOf(0, 5, 11))
    await until('the rest seen', () => seen.length >= 11)
    await first.stop({ timeoutMs: 5000 })
    const before = seen.length
    await join(topic, store, redelivery)
    await until('seen again', () => seen.length > before)
    expect(seen[before]).toBe('0:5')
  })

  it('[ADJ-4] a partition that pauses, or whose handler throws, does not hold up the others and loses nothing', async () => {
    const topic = await newTopic(3)
    const store = new Store()
    let isHealed = false
    await join(topic, store, {
      limits: { maxBatchRecords: 50, maxQueuedRecords: 100, maxQueuedBytes: 40_000, maxConcurrentBatches: 2 },
      handle: async (batch) => {
        if (!isHealed && batch.partition === 0) return { kind: 'pause', retryAfterMs: 50, reason: 'database away' }
        if (!isHealed && batch.partition === 1) throw new Error('a fault')
        return store.handle(batch)
      },
    })
    await Promise.all([0, 1, 2].map((p) => append(topic, p, valuesOf(p, 0, 2000))))
    await until('the healthy partition is done', () => store.of(2).length === 2000)
    expect(store.of(0)).toEqual([])
    await until('the pause is told', () => store.stateOf(0)?.reason === 'database away')
    await until('the fault is told', () => store.stateOf(1)?.reason === 'handler failed: Error: a fault')
    isHealed = true
    await until('all records handled', () => store.total >= 6000)
    for (const p of [0, 1, 2]) expect(store.of(p)).toEqual(valuesOf(p, 0, 2000))
    expect(store.stateOf(0)?.state).toBe('running')
  })

  it('stop waits for the batch in flight, commits it and starts no other', async () => {
    const topic = await newTopic(1)
    const store = new Store()
    const gate = Promise.withResolvers<void>()
    let calls = 0
    await append(topic, 0, valuesOf(0, 0, 20))
    const consumer = await join(topic, store, {
      limits: { maxBatchRecords: 10 },
      handle: async (batch) => {
        calls += 1
        await gate.promise
        return store.handle(batch)
      },
    })
    await until('a batch in flight', () => calls === 1)
    const stopped = consumer.stop({ timeoutMs: 20_000 })
    gate.resolve()
    await stopped
    expect(await consumer.closed).toBeUndefined()
    expect([calls, store.total]).toEqual([1, 10])
    const resumed: bigint[] = []
    await join(topic, new Store(), {
      startOf: async () => ({ kind: 'group-offset' }),
      handle: async (batch) => (resumed.push(batch.expectedOffset), { kind: 'pause', retryAfterMs: 60_000, reason: 'seen' }),
    })
    await until('the group offset is known', () => resumed.length > 0)
    expect(resumed[0]).toBe(10n)
  })
})

describe('producer and admin', { timeout: TIMEOUT_MS }, () => {
  it('keys, values, headers and timestamps arrive as bytes', async () => {
    const topic = await newTopic(1)
    const store = new Store()
    const records: SourceRecord[] = []
    const [range] = await producer.send(topic, [
      { key: 'bank/账户', value: Buffer.from([0, 255]), headers: { 'ce-id': 'e-1' } },
      { key: null, value: null },
    ])
    expect(range).toEqual({ partition: 0, baseOffset: 0n })
    await join(topic, store, { handle: async (batch) => (records.push(...batch.records), store.handle(batch)) })
    await until('two records', () => records.length === 2)
    expect(Buffer.from(records[0]?.key ?? []).toString()).toBe('bank/账户')
    expect([...(records[0]?.value ?? [])]).toEqual([0, 255])
    expect(records[0]?.headers.map(([name, value]) => [name, Buffer.from(value).toString()])).toEqual([['ce-id', 'e-1']])
    expect([records[1]?.key, records[1]?.value]).toEqual([null, null])
    expect(Math.abs(Number(records[0]?.timestampMs) - Date.now())).toBeLessThan(60_000)
  })

  it('a send larger than a request is split and keeps its order', async () => {
    const topic = await newTopic(1)
    const store = new Store()
    const small = createCommandProducer({ ...CONNECTION, maxRequestBytes: 1000 })
    const ranges = await small.send(
      topic,
      valuesOf(0, 0, 100).map((value) => ({ key: null, value, partition: 0 })),
    )
    await small.close()
    expect(ranges.length).toBeGreaterThan(1)
    await join(topic, store)
    await until('all records', () => store.total === 100)
    expect(store.of(0)).toEqual(valuesOf(0, 0, 100))
  })

  it('ensureTopic is idempotent, describes what stands, and refuses another partition count', async () => {
    const topic = await newTopic(3)
    expect(await admin.ensureTopic({ topic, partitions: 3, retentionMs: 5000 })).toEqual({ created: false })
    expect(await admin.describeTopic(topic)).toMatchObject({ partitions: 3, cleanupPolicy: 'delete', retentionMs: -1n })
    expect((await admin.topicOffsets(topic)).get(2)).toEqual({ low: 0n, high: 0n })
    await expect(admin.ensureTopic({ topic, partitions: 4, retentionMs: -1 })).rejects.toMatchObject({ code: 'TOPIC_PARTITIONS_DIFFER' })
    await expect(admin.describeTopic(`${topic}-none`)).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' })
    await admin.deleteTopic(`${topic}-none`)
  })

  it('a topic deleted and created again can be written by the same producer', async () => {
    const topic = await newTopic(1)
    await append(topic, 0, ['a'])
    await admin.deleteTopic(topic)
    await admin.ensureTopic({ topic, partitions: 1, retentionMs: -1 })
    await until('written', () =>
      append(topic, 0, ['b']).then(
        () => true,
        () => false,
      ),
    )
    expect((await admin.topicOffsets(topic)).get(0)?.high).toBeGreaterThan(0n)
  })
})
