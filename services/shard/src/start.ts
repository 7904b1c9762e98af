import { setTimeout as delay } from 'node:timers/promises'
import { createResultProducer } from '@onceledger/command-log'
import { gapsTopicOf, resultsTopicOf } from '@onceledger/core'
import {
  type BatchContext,
  BINDING_FAILPOINTS,
  createAdjudicator,
  loadShardMap,
  openBindingDesk,
  STORE_FAILPOINTS,
  StoreMisconfigured,
} from '@onceledger/ledger-store'
import {
  type AdminServer,
  createFailpoints,
  createMetrics,
  type Failpoints,
  HealthState,
  type Logger,
  startAdminServer,
  type StopStep,
  stopInReverse,
  withTimeout,
} from '@onceledger/runtime'
import type { ShardConfig } from './config.ts'
import { openContext, type ShardContext, systemNowUs } from './context.ts'
import { createLogConsumer } from './log-consumer.ts'
import { createShardMetrics } from './observe.ts'
import { watchGaps } from './gap-watch.ts'
import { ParkingWindow } from './parking-window.ts'
import { createPartitionHandler } from './partition-handler.ts'
import { openResults, type ResultsOutletParts } from './results/outlet.ts'
import { RELAY_FAILPOINTS } from './results/relay.ts'
import { Sweeper } from './sweeper.ts'
import { findTopicFault, findWrittenTopicFault } from './topic-check.ts'
import { PartitionTurns } from './turns.ts'
import { watchOutside } from './watch.ts'

export interface RunningShard {
  readonly admin: AdminServer
  /** Resolves when the consumer has ended: undefined after a stop, the error after a crash. */
  readonly closed: Promise<Error | undefined>
  /** Drains what is in flight, commits, leaves the group, closes everything. */
  stop(timeoutMs: number): Promise<void>
}

const UNDO_TIMEOUT_MS = 10_000
const FAILPOINTS = [...STORE_FAILPOINTS, ...BINDING_FAILPOINTS, ...RELAY_FAILPOINTS] as const

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Opens, checks and starts one process of a shard.
 * @throws ConfigError, StoreMisconfigured, CommandLogError: with everything closed again.
 */
export async function startShard(config: ShardConfig, environment: Environment, log: Logger): Promise<RunningShard> {
  const steps: StopStep[] = []
  const stop = (timeoutMs: number): Promise<void> => stopInReverse(steps, log)(timeoutMs)
  try {
    return { ...(await open(config, environment, log, steps)), stop }
  } catch (error) {
    // What stopped the start is what is told; a step that cannot be undone has been logged.
    await stop(UNDO_TIMEOUT_MS).catch(() => {})
    throw error
  }
}

/** Each thing that is opened adds how it is closed. */
async function open(config: ShardConfig, environment: Environment, log: Logger, steps: StopStep[]): Promise<Omit<RunningShard, 'stop'>> {
  const failpoints = createFailpoints({ env: environment, known: FAILPOINTS })
  const context = await openContext(config)
  steps.push({ name: 'databases', stop: () => context.close() })
  await requireTopics(config, context)

  const health = new HealthState()
  health.set('consumer', false, 'not started yet')
  const registry = createMetrics({ processMetrics: true })
  const metrics = createShardMetrics(registry)
  const admin = await startAdminServer({ host: config.adminHost, port: config.adminPort, metrics: registry, health, log })
  steps.push({ name: 'admin server', stop: () => admin.close() })

  const parking = new ParkingWindow({ messages: config.parkedMax, windowMs: config.parkedWindowMs }, () => performance.now())
  const store = await openStore(config, context, parking, failpoints)
  const adjudicator = createAdjudicator({ ...store, random: Math.random, sleep: (ms) => delay(ms), observer: metrics })
  const restart = (partition: number): void => void setImmediate(() => consumer.restart(partition))
  const producer = createResultProducer({
    brokers: config.kafkaBrokers,
    clientId: `onceledger-shard-${config.shard}-${process.pid}-results`,
    contentType: 'application/cloudevents+json',
  })
  steps.push({ name: 'producer', stop: () => producer.close() })
  const results = config.publishResults ? openResults({ context, producer, failpoints, health, metrics, log, restart }) : null
  const turns = new PartitionTurns()
  const stopping = new AbortController()
  const handle = createPartitionHandler({
    fresh: context.fresh,
    adjudicator,
    registry: context.registry,
    bucketCount: context.foundation.bucketCount,
    redelivery: config.startFrom === 'group-offset',
    turns,
    parking,
    results,
    onCommitted({ partition }, { judgements, more }) {
      metrics.judged(judgements)
      sweeper.batchCommitted(partition, more)
    },
  })
  const consumer = createLogConsumer({ config, context, handle, results, health, metrics, log, stopping: stopping.signal })
  const sweeper = new Sweeper({
    context: store,
    topic: context.foundation.topic,
    consumer,
    turns,
    relay: results?.relay ?? null,
    isBehind: (partition) => results?.catchUp.isBehind(partition) === true,
    parking,
    nowMs: () => performance.now(),
    log,
  })
  if (results !== null) steps.push({ name: 'results', stop: (timeoutMs) => closeResults(results, sweeper, timeoutMs) })
  steps.push({ name: 'consumer', stop: (timeoutMs) => consumer.stop({ timeoutMs }) })
  await consumer.start()
  health.set('consumer', true, '')
  steps.push({ name: 'sweeper', stop: sweeper.start() })
  steps.push({
    name: 'gap watch',
    stop: watchGaps({ context, consumer, producer, metrics, intervalMs: config.gapIntervalMs, nowUs: systemNowUs, log }),
  })
  steps.push({ name: 'watch', stop: watchOutside({ context, consumer, health, metrics, log }) })
  steps.push({
    name: 'readiness',
    stop() {
      stopping.abort()
      health.set('consumer', false, 'stopping')
    },
  })
  return { admin, closed: consumer.closed }
}

/** What every transaction of this process needs. */
async function openStore(
  config: ShardConfig,
  context: ShardContext,
  parking: ParkingWindow,
  failpoints: Failpoints<(typeof FAILPOINTS)[number]>,
): Promise<BatchContext> {
  const { database, control, names, registry, foundation } = context
  const bindings = await openBindingDesk({
    shard: config.shard,
    names,
    loadMap: () => loadShardMap(control),
    databaseOf: (shard) => context.databaseOf(shard),
    nowUs: systemNowUs,
    failpoints,
  })
  return {
    database,
    names,
    registry,
    bucketCount: foundation.bucketCount,
    publishing: config.publishResults,
    bindings,
    mayPark: (partition, messages) => parking.mayPark(partition, messages),
    nowUs: systemNowUs,
    failpoints,
  }
}

/** @throws StoreMisconfigured `TOPIC_UNFIT` */
async function requireTopics(config: ShardConfig, { admin, foundation }: ShardContext): Promise<void> {
  const { topic, bucketCount } = foundation
  const written = config.publishResults ? [resultsTopicOf(topic), gapsTopicOf(topic)] : [gapsTopicOf(topic)]
  const faults = [await findTopicFault(admin, foundation)]
  for (const each of written) faults.push(await findWrittenTopicFault(admin, { topic: each, bucketCount }))
  const [fault] = faults.filter((each) => each !== null)
  if (fault !== undefined) throw new StoreMisconfigured('TOPIC_UNFIT', fault)
}

/** No batch is in flight any more: what was judged is told, and what was told is remembered, as far as the time allows. */
async function closeResults({ relay }: ResultsOutletParts, sweeper: Sweeper, timeoutMs: number): Promise<void> {
  try {
    await withTimeout(relay.drained(), timeoutMs / 2, 'the results that wait')
  } finally {
    relay.stop()
    await sweeper.rememberAll()
  }
}
