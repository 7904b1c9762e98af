import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createCommandProducer, createLogAdmin, type LogAdmin } from '@onceledger/command-log'
import { encodeCommand, gapsTopicOf, resultsTopicOf } from '@onceledger/core'
import { defaultControlUrl, foundLedger, loadProgress, openShardDatabase, type ShardDatabase, withDatabase } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import { cpuSecondsOf, peakRssMib, type Sample } from '../measure.ts'
import { benchRegistry, nowUs, randomName } from './ledger.ts'
import { BENCH_BUCKETS, BENCH_TENANT } from './workload.ts'

export interface EndToEndOptions {
  readonly serverUrl: string
  readonly brokers: readonly string[]
  readonly mysqldPid: number | null
  readonly events: number
  readonly accounts: number
  readonly connections: number
  /** Whether results are published; the time then runs until the last one is acknowledged. */
  readonly results: boolean
  readonly newId: () => string
}

const PRODUCE_CHUNK = 5_000
const TIMEOUT_MS = 180_000
/** As services/shard/README.md gives them. */
const NODE_FLAGS = ['--max-old-space-size=180', '--max-semi-space-size=16', '--heap-growing-percent=300']

/**
 * (d) A shard process of its own reads a topic that was filled before, until the last offset is applied. The time runs from the first
 * commit to the last, as the database recorded them, so that the start of the process is left out.
 */
export async function runEndToEnd(options: EndToEndOptions): Promise<Sample> {
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
  const database = openShardDatabase({ url, connectionsMax: 1 })
  const topics = [topic, resultsTopicOf(topic), gapsTopicOf(topic)]
  for (const each of topics) await admin.ensureTopic({ topic: each, partitions: BENCH_BUCKETS, retentionMs: -1 })
  await fillTopic(options, topic)
  const mysqldBefore = await cpuSecondsOf(options.mysqldPid)
  const child = startShard(options, url)
  try {
    await waitUntilApplied(database, topic, options.events, child)
    const lastCommitMs = await lastCommitMsOf(database)
    const publishedMs = options.results ? await waitUntilPublished(admin, resultsTopicOf(topic), options.events) : lastCommitMs
    const mysqldAfter = await cpuSecondsOf(options.mysqldPid)
    const pid = child.pid ?? 0
    return {
      events: options.events,
      seconds: (Math.max(lastCommitMs, publishedMs) - (await firstCommitMsOf(database))) / 1000,
      nodeCpuSeconds: (await cpuSecondsOf(pid)) ?? Number.NaN,
      mysqldCpuSeconds: mysqldBefore === null || mysqldAfter === null ? null : mysqldAfter - mysqldBefore,
      peakRssMib: await peakRssMib(pid),
    }
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
    await database.withSession((session) => session.run(`DROP DATABASE ${name}; DROP DATABASE ${name}_control`))
    await database.close()
    for (const each of topics) await admin.deleteTopic(each)
  }
}

async function fillTopic(options: EndToEndOptions, topic: string): Promise<void> {
  const producer = createCommandProducer({ brokers: options.brokers, clientId: 'onceledger-bench' })
  for (let sent = 0; sent < options.events; sent += PRODUCE_CHUNK) {
    const records = Array.from({ length: Math.min(PRODUCE_CHUNK, options.events - sent) }, (_, i) =>
      encodeCommand({
        type: 'deposit.v1',
        tenantId: BENCH_TENANT,
        businessKey: `account-${(sent + i) % options.accounts}`,
        eventId: options.newId(),
        operationId: options.newId(),
        source: '/onceledger/bench',
        data: { amount: String(100 + (i % 900)), currency: 'EUR' },
      }),
    )
    await producer.send(topic, records)
  }
  await producer.close()
}

export function startShard(options: EndToEndOptions, url: string): ChildProcess {
  const main = new URL('../../../../services/shard/src/main.ts', import.meta.url).pathname
  return spawn(process.execPath, [...NODE_FLAGS, main], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      ONCELEDGER_SHARD: '0',
      ONCELEDGER_MYSQL_URLS: url,
      ONCELEDGER_CONTROL_URL: '',
      ONCELEDGER_KAFKA_BROKERS: options.brokers.join(','),
      ONCELEDGER_CONNECTIONS: String(options.connections),
      ONCELEDGER_ADMIN_PORT: '0',
      ONCELEDGER_LOG_LEVEL: 'error',
      ONCELEDGER_FAILPOINTS: '',
      ONCELEDGER_RESULTS: options.results ? 'on' : 'off',
    },
  })
}

async function waitUntilApplied(database: ShardDatabase, topic: string, events: number, child: ChildProcess): Promise<void> {
  await waitFor(
    async () => {
      if (child.exitCode !== null) throw new Error(`the shard process ended with code ${child.exitCode}`)
      const progress = await loadProgress(database, topic)
      return progress.reduce((sum, { nextOffset }) => sum + nextOffset, 0n) >= BigInt(events)
    },
    { timeoutMs: TIMEOUT_MS, intervalMs: 100, what: `all ${events} commands applied` },
  )
}

/** @returns when the topic was seen to hold all results, in ms since 1970. */
async function waitUntilPublished(admin: LogAdmin, topic: string, events: number): Promise<number> {
  return waitFor(
    async () => {
      const bounds = await admin.topicOffsets(topic)
      return [...bounds.values()].reduce((sum, { high }) => sum + high, 0n) >= BigInt(events) ? Date.now() : null
    },
    { timeoutMs: TIMEOUT_MS, intervalMs: 20, what: `all ${events} results published` },
  )
}

async function firstCommitMsOf(database: ShardDatabase): Promise<number> {
  return msOf(database, 'SELECT MIN(committed_at) FROM operation')
}

async function lastCommitMsOf(database: ShardDatabase): Promise<number> {
  return msOf(database, 'SELECT MAX(updated_at) FROM applied_offset')
}

async function msOf(database: ShardDatabase, sql: string): Promise<number> {
  const [rows = []] = await database.withSession((session) => session.run(sql))
  return Number(rows[0]?.[0]) / 1000
}
