import kafkajs, { type Admin } from 'kafkajs'
import type { LogBounds } from './chain.ts'
import { CommandLogError, describeError } from './errors.ts'
import { createKafka, type LogConnection, RETRY } from './kafka-client.ts'
import { type CommandLogLogger, SILENT_LOGGER } from './observer.ts'
import { SYSTEM_TIMERS, type Timers } from './timers.ts'

export interface TopicSpec {
  readonly topic: string
  readonly partitions: number
  /** -1 keeps records for ever. */
  readonly retentionMs: number
  /** Copies of each partition; the broker's default if left out. */
  readonly replicas?: number
  /** Further settings by Kafka's names, such as min.insync.replicas. */
  readonly config?: Readonly<Record<string, string>>
}

export interface TopicDescription {
  readonly topic: string
  readonly partitions: number
  readonly replicas: number
  /** "delete", "compact" or "compact,delete". */
  readonly cleanupPolicy: string
  readonly retentionMs: bigint
  readonly retentionBytes: bigint
  readonly maxMessageBytes: bigint
  readonly minInsyncReplicas: number
}

export interface LogAdmin {
  /**
   * Creates the topic unless it exists, and waits until it can be written and read. The settings of an existing one are left alone.
   * @throws CommandLogError TOPIC_PARTITIONS_DIFFER, TOPIC_NOT_READY, REQUEST_FAILED
   */
  ensureTopic(spec: TopicSpec): Promise<{ readonly created: boolean }>
  /** @throws CommandLogError TOPIC_UNKNOWN, REQUEST_FAILED */
  describeTopic(topic: string): Promise<TopicDescription>
  /** @throws CommandLogError TOPIC_UNKNOWN, REQUEST_FAILED */
  topicOffsets(topic: string): Promise<ReadonlyMap<number, LogBounds>>
  /** Deletes the topic and waits until it is gone; nothing happens if there is none. @throws CommandLogError REQUEST_FAILED, TIMEOUT */
  deleteTopic(topic: string): Promise<void>
}

export interface LogAdminOptions extends LogConnection {
  readonly logger?: CommandLogLogger
  readonly timers?: Timers
  /** How long ensureTopic and deleteTopic wait for their effect. Default 60,000. */
  readonly effectTimeoutMs?: number
}

const POLL_MS = 50
/** What the brokers answer while the news of a topic spreads among them. */
const NOT_YET = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION', 'NOT_LEADER_OR_FOLLOWER'])

export function createLogAdmin(options: LogAdminOptions): LogAdmin {
  const kafka = createKafka(options, options.logger ?? SILENT_LOGGER)
  const timers = options.timers ?? SYSTEM_TIMERS
  const effectTimeoutMs = options.effectTimeoutMs ?? 60_000

  /**
   * Each call has its own client: kafkajs asks for every topic it ever heard of with each refresh of its metadata, so one that
   * was deleted since would make it fail for ever. What kafkajs throws becomes our error here.
   */
  async function ask<T>(topic: string, what: string, run: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = kafka.admin({ retry: RETRY })
    try {
      await admin.connect()
      return await run(admin)
    } catch (cause) {
      if (cause instanceof CommandLogError) throw cause
      throw new CommandLogError('REQUEST_FAILED', `${what} of ${topic} failed: ${describeError(cause)}`, { cause })
    } finally {
      await admin.disconnect()
    }
  }

  async function poll(code: 'TOPIC_NOT_READY' | 'TIMEOUT', what: string, isDone: () => Promise<boolean>): Promise<void> {
    const deadlineMs = timers.nowMs() + effectTimeoutMs
    while (!(await isDone())) {
      if (timers.nowMs() > deadlineMs) throw new CommandLogError(code, `${what} within ${effectTimeoutMs} ms`)
      await new Promise<void>((resolve) => timers.after(POLL_MS, resolve))
    }
  }

  return {
    ensureTopic: (spec) =>
      ask(spec.topic, 'the creation', async (admin) => {
        const created = await createTopic(admin, spec)
        await poll('TOPIC_NOT_READY', `topic ${spec.topic} was not ready`, () => isUsable(admin, spec))
        return { created }
      }),
    describeTopic: (topic) => ask(topic, 'the description', (admin) => describeTopic(admin, topic)),
    topicOffsets: (topic) =>
      ask(topic, 'the offsets', async (admin) => {
        await requireTopic(admin, topic)
        const offsets = await admin.fetchTopicOffsets(topic)
        return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]))
      }),
    deleteTopic: (topic) =>
      ask(topic, 'the deletion', async (admin) => {
        await deleteTopic(admin, topic)
        await poll('TIMEOUT', `topic ${topic} was not deleted`, async () => !(await exists(admin, topic)))
      }),
  }
}

async function createTopic(admin: Admin, { topic, partitions, retentionMs, replicas, config }: TopicSpec): Promise<boolean> {
  const settings = { 'retention.ms': String(retentionMs), 'cleanup.policy': 'delete', ...config }
  return admin.createTopics({
    // kafkajs would throw UNKNOWN_TOPIC_OR_PARTITION although the topic exists: isUsable waits instead.
    waitForLeaders: false,
    topics: [
      {
        topic,
        numPartitions: partitions,
        replicationFactor: replicas ?? -1,
        configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
      },
    ],
  })
}

/** Leaders in the metadata are not enough: the log itself may not exist yet, and asking for its offsets proves it. */
async function isUsable(admin: Admin, { topic, partitions }: TopicSpec): Promise<boolean> {
  if (!(await exists(admin, topic))) return false
  try {
    const metadata = (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]
    if (metadata === undefined || metadata.partitions.length === 0) return false
    if (metadata.partitions.length !== partitions) {
      throw new CommandLogError('TOPIC_PARTITIONS_DIFFER', `topic ${topic} has ${metadata.partitions.length} partitions, not ${partitions}`)
    }
    if (!metadata.partitions.every(({ leader, partitionErrorCode }) => leader >= 0 && partitionErrorCode === 0)) return false
    return (await admin.fetchTopicOffsets(topic)).length === partitions
  } catch (error) {
    if (NOT_YET.has(typeOf(error) ?? '')) return false
    throw error
  }
}

/** Asks for all names: asking for one that is unknown would be tried again until the retries are spent. */
async function exists(admin: Admin, topic: string): Promise<boolean> {
  return (await admin.listTopics()).includes(topic)
}

/** @throws CommandLogError TOPIC_UNKNOWN */
async function requireTopic(admin: Admin, topic: string): Promise<void> {
  if (!(await exists(admin, topic))) throw new CommandLogError('TOPIC_UNKNOWN', `there is no topic ${topic}`)
}

async function describeTopic(admin: Admin, topic: string): Promise<TopicDescription> {
  await requireTopic(admin, topic)
  const metadata = (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]
  const configs = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }],
  })
  const entries = new Map(configs.resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]))
  const setting = (name: string): string => {
    const value = entries.get(name)
    if (value === undefined) throw new CommandLogError('REQUEST_FAILED', `the broker does not tell ${name} of ${topic}`)
    return value
  }
  return {
    topic,
    partitions: metadata?.partitions.length ?? 0,
    replicas: metadata?.partitions[0]?.replicas.length ?? 0,
    cleanupPolicy: setting('cleanup.policy'),
    retentionMs: BigInt(setting('retention.ms')),
    retentionBytes: BigInt(setting('retention.bytes')),
    maxMessageBytes: BigInt(setting('max.message.bytes')),
    minInsyncReplicas: Number(setting('min.insync.replicas')),
  }
}

async function deleteTopic(admin: Admin, topic: string): Promise<void> {
  if (!(await exists(admin, topic))) return
  try {
    await admin.deleteTopics({ topics: [topic] })
  } catch (error) {
    if (typeOf(error) !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error
  }
}

/** The broker's error code by its name. kafkajs wraps it when it gives up trying. */
function typeOf(error: unknown): string | null {
  if (error instanceof kafkajs.KafkaJSProtocolError) return error.type
  return error instanceof kafkajs.KafkaJSError && error.cause instanceof kafkajs.KafkaJSProtocolError ? error.cause.type : null
}
