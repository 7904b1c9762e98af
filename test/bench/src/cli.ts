import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { startStack } from '@onceledger/local-stack'
import { type BenchmarkReport, benchmarkAdjudication } from './adjudication/benchmark.ts'
import { benchmarkResults, type ResultsReport } from './results/benchmark.ts'
import { benchmarkScope, type ScopeReport } from './scope/benchmark.ts'

const USAGE = `usage: pnpm bench adjudication|results|scope [--json] [--repeats N] [--events N] [--accounts N] [--connections N] [--batch N]

Starts real servers unless ONCELEDGER_MYSQL_URLS and ONCELEDGER_KAFKA_BROKERS name them. Takes about three minutes each; leave the
machine alone meanwhile, and read the ratios rather than the rates.
`

function uuidv7(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  const random = randomBytes(10).toString('hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      repeats: { type: 'string', default: '3' },
      events: { type: 'string', default: '120000' },
      accounts: { type: 'string', default: '1000' },
      connections: { type: 'string', default: '4' },
      batch: { type: 'string', default: '1000' },
      help: { type: 'boolean', default: false },
    },
  })
  const [what = ''] = positionals
  if (values.help || positionals.length !== 1 || !['adjudication', 'results', 'scope'].includes(what)) {
    process.stderr.write(USAGE)
    return values.help ? 0 : 2
  }
  const onProgress = (line: string): void => void process.stderr.write(`${line}\n`)
  const stack = await startStack({ name: 'bench', attached: true, services: ['mysql-0', 'kafka'], onProgress })
  const [serverUrl = ''] = stack.mysqlUrls
  const common = {
    serverUrl,
    brokers: stack.kafkaBrokers,
    repeats: Number(values.repeats),
    events: Number(values.events),
    accounts: Number(values.accounts),
    connections: Number(values.connections),
    batchSize: Number(values.batch),
    newId: uuidv7,
    onProgress,
  }
  if (what === 'results') {
    const report = await benchmarkResults(common)
    process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : printResults(report))
  } else if (what === 'scope') {
    const report = await benchmarkScope(common)
    process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : printScope(report))
  } else {
    const report = await benchmarkAdjudication({ ...common, perMessageEvents: 8_000, manyAccounts: 100_000 })
    process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : print(report))
  }
  await stack.stop({ wipe: true })
  return 0
}

function printResults(report: ResultsReport): string {
  const { latency } = report
  return [
    ...Object.entries(report.figures).map(
      ([name, { events_per_second, node_cpu_s_per_1000 }]) =>
        `${name.padEnd(30)} ${String(events_per_second).padStart(8)} events/s   CPU s per 1,000: node ${node_cpu_s_per_1000}`,
    ),
    `publishing to silent ${report.publishing_to_silent}, results from memory to rows of an outbox ${report.memory_to_rows}`,
    `at ${latency.eventsPerSecond} events/s, from the producer to the result: p50 ${latency.p50Ms} ms, p99 ${latency.p99Ms} ms, longest ${latency.maxMs} ms`,
    `peak memory of the shard process ${report.shard_rss_mib ?? 'unknown'} MiB`,
    '',
  ].join('\n')
}

function printScope(report: ScopeReport): string {
  return [
    ...Object.entries(report.figures).map(
      ([name, { events_per_second }]) => `${name.padEnd(30)} ${String(events_per_second).padStart(8)} events/s`,
    ),
    `tenant-wide to business-key scope: at home here ${report.home_here_to_business_key}, elsewhere ${report.home_elsewhere_to_business_key}`,
    '',
  ].join('\n')
}

function print(report: BenchmarkReport): string {
  const lines = Object.entries(report.figures).map(
    ([name, { events_per_second, node_cpu_s_per_1000, mysqld_cpu_s_per_1000 }]) =>
      `${name.padEnd(30)} ${String(events_per_second).padStart(8)} events/s   CPU s per 1,000: node ${node_cpu_s_per_1000}, mysqld ${mysqld_cpu_s_per_1000 ?? 'unknown'}`,
  )
  const { bytes_per_event: bytes } = report
  return [
    ...lines,
    '',
    `adjudicator to one transaction a message, best of 1, 16, 64 connections: ${report.adjudicator_to_per_message} (aim: 20)`,
    `adjudicator to raw rows: ${report.adjudicator_to_raw} (aim: 0.7); with 100,000 accounts: ${report.many_accounts_to_raw}`,
    `Kafka to applied offset, to raw rows: ${report.end_to_end_to_raw} (aim: 0.6)`,
    `half duplicates to fresh: ${report.half_duplicates_to_fresh} (aim: 1)`,
    `peak memory of the shard process: ${report.shard_rss_mib ?? 'unknown'} MiB (aim: at most 300)`,
    `bytes an event: operation ${bytes.operation}, inbox ${bytes.inbox}, binary log ${bytes.binlog ?? 'off'}`,
    '',
  ].join('\n')
}

process.exitCode = await main()
