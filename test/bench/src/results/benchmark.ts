import { createLogAdmin, createResultProducer } from '@onceledger/command-log'
import { openShardDatabase } from '@onceledger/ledger-store'
import { runEndToEnd } from '../adjudication/end-to-end.ts'
import { createBenchLedger, randomName } from '../adjudication/ledger.ts'
import { buildLanes } from '../adjudication/workload.ts'
import { BENCH_BUCKETS } from '../adjudication/workload.ts'
import { type Figure, figureOf, median, round, type Sample, sample } from '../measure.ts'
import { type LatencyReport, measureLatency } from './latency.ts'
import { createOutboxTable, type OutboxKind, runPublishing } from './outbox-rows.ts'

export interface ResultsBenchmarkOptions {
  readonly serverUrl: string
  readonly brokers: readonly string[]
  readonly repeats: number
  readonly events: number
  readonly accounts: number
  readonly connections: number
  readonly batchSize: number
  readonly newId: () => string
  readonly onProgress: (line: string) => void
}

export interface ResultsReport {
  /** A shard process that publishes every result, to one that publishes none. */
  readonly publishing_to_silent: number
  /** Results sent from memory after the commit, to rows of an outbox in the transaction; both in one process that judges. */
  readonly memory_to_rows: number
  readonly shard_rss_mib: number | null
  readonly latency: LatencyReport
  readonly figures: Readonly<Record<string, Figure>>
}

const END_TO_END_FACTOR = 3
const LATENCY_SECONDS = 10

type Variant = 'end_to_end_silent' | 'end_to_end_publishing' | 'outbox_rows' | 'outbox_memory'

/** Every variant in turn, then all again; ratios are medians of the ratios within one repeat. */
export async function benchmarkResults(options: ResultsBenchmarkOptions): Promise<ResultsReport> {
  const runs = new Map<Variant, Sample[]>()
  const variants: [Variant, () => Promise<Sample>][] = [
    ['end_to_end_silent', () => timeEndToEnd(options, false)],
    ['end_to_end_publishing', () => timeEndToEnd(options, true)],
    ['outbox_rows', () => timeOutbox(options, 'rows')],
    ['outbox_memory', () => timeOutbox(options, 'memory')],
  ]
  for (let repeat = 1; repeat <= options.repeats; repeat++)
    for (const [name, run] of variants) {
      const result = await run()
      runs.set(name, [...(runs.get(name) ?? []), result])
      options.onProgress(`${repeat}/${options.repeats} ${name.padEnd(24)} ${Math.round(result.events / result.seconds)} events/s`)
    }
  const rate = (name: Variant, repeat: number): number => {
    const run = runs.get(name)?.[repeat]
    return run === undefined ? Number.NaN : run.events / run.seconds
  }
  const ratio = (of: Variant, to: Variant): number =>
    round(median(Array.from({ length: options.repeats }, (_, repeat) => rate(of, repeat) / rate(to, repeat))), 2)
  const top = median(Array.from({ length: options.repeats }, (_, repeat) => rate('end_to_end_publishing', repeat)))
  const latency = await measureLatency({ ...options, eventsPerSecond: Math.round(top / 2), seconds: LATENCY_SECONDS })
  options.onProgress(`latency at ${latency.eventsPerSecond}/s: p50 ${latency.p50Ms} ms, p99 ${latency.p99Ms} ms`)
  const peaks = (runs.get('end_to_end_publishing') ?? []).flatMap(({ peakRssMib }) => (typeof peakRssMib === 'number' ? [peakRssMib] : []))
  return {
    publishing_to_silent: ratio('end_to_end_publishing', 'end_to_end_silent'),
    memory_to_rows: ratio('outbox_memory', 'outbox_rows'),
    shard_rss_mib: peaks.length === 0 ? null : Math.round(Math.max(...peaks)),
    latency,
    figures: Object.fromEntries([...runs].map(([name, samples]) => [name, figureOf(samples)])),
  }
}

function timeEndToEnd(options: ResultsBenchmarkOptions, results: boolean): Promise<Sample> {
  return runEndToEnd({ ...options, mysqldPid: null, results, events: options.events * END_TO_END_FACTOR })
}

async function timeOutbox(options: ResultsBenchmarkOptions, kind: OutboxKind): Promise<Sample> {
  const { events, accounts, connections, batchSize, newId, brokers } = options
  const ledger = await createBenchLedger(options.serverUrl, connections)
  const topic = `bench-results-${randomName()}`
  const admin = createLogAdmin({ brokers, clientId: 'onceledger-bench' })
  await admin.ensureTopic({ topic, partitions: BENCH_BUCKETS, retentionMs: -1 })
  const producer = createResultProducer({ brokers, clientId: 'onceledger-bench', contentType: 'application/cloudevents+json' })
  const relayDatabase = openShardDatabase({ url: ledger.url, connectionsMax: 1 })
  try {
    await createOutboxTable(ledger)
    const { registry } = ledger
    const lanes = buildLanes({ registry, topic: 'bench', events, accounts, lanes: connections, batchSize, halfDuplicates: false, newId })
    return await sample({ events, mysqldPid: null }, () => runPublishing(ledger, lanes, kind, relayDatabase, producer, topic))
  } finally {
    await producer.close()
    await relayDatabase.close()
    await ledger.drop()
    await admin.deleteTopic(topic)
  }
}
