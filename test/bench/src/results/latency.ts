import { setTimeout as delay } from 'node:timers/promises'
import { createCommandProducer, createLogAdmin, openTopicReader } from '@onceledger/command-log'
import { encodeCommand, gapsTopicOf, resultsTopicOf } from '@onceledger/core'
import { defaultControlUrl, foundLedger, openShardDatabase, withDatabase } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import { type EndToEndOptions, startShard } from '../adjudication/end-to-end.ts'
import { benchRegistry, nowUs, randomName } from '../adjudication/ledger.ts'
import { BENCH_BUCKETS, BENCH_TENANT } from '../adjudication/workload.ts'

export interface LatencyOptions extends Omit<EndToEndOptions, 'events' | 'results' | 'mysqldPid'> {
  readonly eventsPerSecond: number
  readonly seconds: number
}

export interface LatencyReport {
  readonly events: number
  readonly eventsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const TICK_MS = 20
/** The first seconds, in which V8 still compiles and the group forms, are not counted. */
const WARM_UP_SECONDS = 3
const TIMEOUT_MS = 60_000

/** From handing a command to the producer until its result reaches a reader of the results topic, at a steady rate; all on this machine. */
export async function measureLatency(options: LatencyOptions): Promise<LatencyReport> {
  const name = randomName()
  const url = withDatabase(options.serverUrl, name)
  const topic = `bench-${name}`
  await foundLedger({
    controlUrl: defaultControlUrl(url),
    shardUrls: [url],
    topic,
    bucketCount: BENCH_BUCKETS,
    registry: benchRegistry(),
    nowUs: nowUs(),
  })
  const admin = createLogAdmin({ brokers: options.brokers, clientId: 'onceledger-bench' })
  const topics = [topic, resultsTopicOf(topic), gapsTopicOf(topic)]
  for (const each of topics) await admin.ensureTopic({ topic: each, partitions: BENCH_BUCKETS, retentionMs: -1 })
  const sentAtMs = new Map<string, number>()
  const latenciesMs: number[] = []
  let seen = 0
  const reader = await openTopicReader({
    brokers: options.brokers,
    clientId: 'onceledger-bench',
    topic: resultsTopicOf(topic),
    from: new Map(),
    onMessage({ value }) {
      const { data } = JSON.parse(value) as { data: { command: { operationid: string } } }
      const sent = sentAtMs.get(data.command.operationid)
      if (sent !== undefined) latenciesMs.push(performance.now() - sent)
      seen++
    },
  })
  const child = startShard({ ...options, events: 0, mysqldPid: null, results: true }, url)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  try {
    const events = await produce(options, topic, sentAtMs)
    await waitFor(() => seen >= events, { timeoutMs: TIMEOUT_MS, what: 'every result' })
    return { events, eventsPerSecond: options.eventsPerSecond, ...quantiles(latenciesMs) }
  } finally {
    child.kill('SIGTERM')
    await reader.close()
    await exited
    const database = openShardDatabase({ url, connectionsMax: 1 })
    await database.withSession((session) => session.run(`DROP DATABASE ${name}; DROP DATABASE ${name}_control`))
    await database.close()
    for (const each of topics) await admin.deleteTopic(each)
  }
}

async function produce(options: LatencyOptions, topic: string, sentAtMs: Map<string, number>): Promise<number> {
  const producer = createCommandProducer({ brokers: options.brokers, clientId: 'onceledger-bench' })
  const startMs = performance.now()
  const ticks = ((options.seconds + WARM_UP_SECONDS) * 1000) / TICK_MS
  let events = 0
  for (let tick = 0; tick < ticks; tick++) {
    const due = Math.round(((tick + 1) * TICK_MS * options.eventsPerSecond) / 1000)
    const records = Array.from({ length: due - events }, (_, i) => {
      const operationId = options.newId()
      if (tick * TICK_MS >= WARM_UP_SECONDS * 1000) sentAtMs.set(operationId, performance.now())
      return encodeCommand({
        type: 'deposit.v1',
        tenantId: BENCH_TENANT,
        businessKey: `account-${(events + i) % options.accounts}`,
        eventId: options.newId(),
        operationId,
        source: '/onceledger/bench',
        data: { amount: '100', currency: 'EUR' },
      })
    })
    events = due
    await producer.send(topic, records)
    await delay(Math.max(0, startMs + (tick + 1) * TICK_MS - performance.now()))
  }
  await producer.close()
  return events
}

function quantiles(latenciesMs: number[]): Pick<LatencyReport, 'p50Ms' | 'p99Ms' | 'maxMs'> {
  const sorted = latenciesMs.sort((left, right) => left - right)
  const at = (share: number): number => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN)
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}
