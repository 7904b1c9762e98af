import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ShardDatabase } from '@onceledger/ledger-store'
import { type Figure, figureOf, median, round, type Sample, sample } from '../measure.ts'
import { runEndToEnd } from './end-to-end.ts'
import { createBenchLedger } from './ledger.ts'
import { openAccounts, runPerMessage } from './per-message.ts'
import { binlogBytesBetween, binlogPosition, tableBytes } from './storage.ts'
import { prepareRaw, runAdjudicator, runRaw } from './variants.ts'
import { buildLanes, type Lanes } from './workload.ts'

export interface BenchmarkOptions {
  readonly serverUrl: string
  readonly brokers: readonly string[]
  readonly repeats: number
  readonly events: number
  readonly perMessageEvents: number
  readonly accounts: number
  readonly manyAccounts: number
  readonly connections: number
  readonly batchSize: number
  readonly newId: () => string
  readonly onProgress: (line: string) => void
}

const PER_MESSAGE_CONNECTIONS = [1, 16, 64] as const
const PER_MESSAGE_BATCH = 25
/** A service runs for weeks: its first seconds, in which V8 still compiles, should not be half of the measurement. */
const END_TO_END_FACTOR = 3

type VariantName =
  | `per_message_${(typeof PER_MESSAGE_CONNECTIONS)[number]}`
  | 'raw'
  | 'adjudicator'
  | 'adjudicator_half_duplicates'
  | 'end_to_end'
  | 'raw_many_accounts'
  | 'adjudicator_many_accounts'

interface BytesPerEvent {
  readonly operation: number
  readonly inbox: number
  readonly binlog: number | null
}

export interface BenchmarkReport {
  readonly adjudicator_to_per_message: number
  readonly adjudicator_to_raw: number
  readonly end_to_end_to_raw: number
  readonly half_duplicates_to_fresh: number
  readonly many_accounts_to_raw: number
  readonly shard_rss_mib: number | null
  readonly figures: Readonly<Record<string, Figure>>
  readonly bytes_per_event: BytesPerEvent
  readonly settings: Readonly<Record<string, number | string>>
}

interface Run extends Sample {
  readonly bytes?: BytesPerEvent
}

/**
 * Every variant once, then every variant again, so that a noisy minute hurts all of them alike. Ratios are medians of the ratios within one
 * repeat; each run has a fresh database and the same rows.
 */
export async function benchmarkAdjudication(options: BenchmarkOptions): Promise<BenchmarkReport> {
  const runs = new Map<VariantName, Run[]>()
  for (let repeat = 1; repeat <= options.repeats; repeat++) {
    for (const [name, run] of variants(options)) {
      const result = await run()
      runs.set(name, [...(runs.get(name) ?? []), result])
      options.onProgress(`${repeat}/${options.repeats} ${name.padEnd(28)} ${Math.round(result.events / result.seconds)} events/s`)
    }
  }
  return report(options, runs)
}

function variants(options: BenchmarkOptions): [VariantName, () => Promise<Run>][] {
  const { accounts, manyAccounts } = options
  return [
    ...PER_MESSAGE_CONNECTIONS.map((connections): [VariantName, () => Promise<Run>] => [
      `per_message_${connections}`,
      () => timePerMessage(options, connections),
    ]),
    ['raw', () => timeRaw(options, accounts)],
    ['adjudicator', () => timeAdjudicator(options, accounts, false)],
    ['adjudicator_half_duplicates', () => timeAdjudicator(options, accounts, true)],
    ['end_to_end', () => timeEndToEnd(options)],
    ['raw_many_accounts', () => timeRaw(options, manyAccounts)],
    ['adjudicator_many_accounts', () => timeAdjudicator(options, manyAccounts, false)],
  ]
}

function lanesOf(
  options: BenchmarkOptions,
  registry: Parameters<typeof buildLanes>[0]['registry'],
  accounts: number,
  halfDuplicates: boolean,
): Lanes {
  const { events, connections: lanes, batchSize, newId } = options
  return buildLanes({ registry, topic: 'bench', events, accounts, lanes, batchSize, halfDuplicates, newId })
}

async function timePerMessage(options: BenchmarkOptions, connections: number): Promise<Run> {
  const ledger = await createBenchLedger(options.serverUrl, connections)
  // One connection alone would take a minute for what sixteen do in four seconds.
  const events = connections === 1 ? options.perMessageEvents / 4 : options.perMessageEvents
  const { accounts, newId } = options
  const { registry, topic } = ledger
  const lanes = buildLanes({
    registry,
    topic,
    events,
    accounts,
    lanes: connections,
    batchSize: PER_MESSAGE_BATCH,
    halfDuplicates: false,
    newId,
  })
  await openAccounts(ledger, lanes)
  const mysqldPid = await mysqldPidOf(ledger.database)
  const result = await sample({ events, mysqldPid }, () => runPerMessage(ledger, lanes))
  await ledger.drop()
  return result
}

async function timeRaw(options: BenchmarkOptions, accounts: number): Promise<Run> {
  const ledger = await createBenchLedger(options.serverUrl, options.connections)
  const prepared = prepareRaw(ledger, lanesOf(options, ledger.registry, accounts, false))
  const mysqldPid = await mysqldPidOf(ledger.database)
  const result = await sample({ events: options.events, mysqldPid }, () => runRaw(ledger, prepared))
  await ledger.drop()
  return result
}

async function timeAdjudicator(options: BenchmarkOptions, accounts: number, halfDuplicates: boolean): Promise<Run> {
  const { events } = options
  const ledger = await createBenchLedger(options.serverUrl, options.connections)
  const lanes = lanesOf(options, ledger.registry, accounts, halfDuplicates)
  const mysqldPid = await mysqldPidOf(ledger.database)
  const before = await binlogPosition(ledger.database)
  const result = await sample({ events, mysqldPid }, () => runAdjudicator(ledger, lanes))
  const binlogBytes = await binlogBytesBetween(ledger.database, before, await binlogPosition(ledger.database))
  const { operation = 0, inbox = 0 } = await tableBytes(ledger.database)
  const binlog = binlogBytes === null ? null : Math.round(binlogBytes / events)
  await ledger.drop()
  return { ...result, bytes: { operation: Math.round(operation / events), inbox: Math.round(inbox / events), binlog } }
}

async function timeEndToEnd(options: BenchmarkOptions): Promise<Run> {
  const probe = await createBenchLedger(options.serverUrl, 1)
  const mysqldPid = await mysqldPidOf(probe.database)
  await probe.drop()
  return runEndToEnd({ ...options, mysqldPid, results: false, events: options.events * END_TO_END_FACTOR })
}

/** The server's process where it runs on this machine, or null. */
async function mysqldPidOf(database: ShardDatabase): Promise<number | null> {
  const [rows = []] = await database.withSession((session) => session.run('SELECT @@global.datadir, @@global.pid_file'))
  const [folder, file] = rows[0] ?? []
  try {
    return Number(await readFile(resolve(String(folder), String(file)), 'utf8'))
  } catch {
    // Another machine, or a file that is not ours to read: the CPU of the server is then not reported.
    return null
  }
}

function report(options: BenchmarkOptions, runs: ReadonlyMap<VariantName, readonly Run[]>): BenchmarkReport {
  const rate = (name: VariantName, repeat: number): number => {
    const run = runs.get(name)?.[repeat]
    return run === undefined ? Number.NaN : run.events / run.seconds
  }
  const ratio = (of: (repeat: number) => number): number =>
    round(median(Array.from({ length: options.repeats }, (_, repeat) => of(repeat))), 2)
  const bestPerMessage = (repeat: number): number =>
    Math.max(...PER_MESSAGE_CONNECTIONS.map((connections) => rate(`per_message_${connections}`, repeat)))
  const peaks = (runs.get('end_to_end') ?? []).flatMap(({ peakRssMib }) => (typeof peakRssMib === 'number' ? [peakRssMib] : []))
  const bytes = runs.get('adjudicator')?.at(-1)?.bytes
  const { repeats, events, accounts, manyAccounts, connections, batchSize } = options
  return {
    adjudicator_to_per_message: ratio((repeat) => rate('adjudicator', repeat) / bestPerMessage(repeat)),
    adjudicator_to_raw: ratio((repeat) => rate('adjudicator', repeat) / rate('raw', repeat)),
    end_to_end_to_raw: ratio((repeat) => rate('end_to_end', repeat) / rate('raw', repeat)),
    half_duplicates_to_fresh: ratio((repeat) => rate('adjudicator_half_duplicates', repeat) / rate('adjudicator', repeat)),
    many_accounts_to_raw: ratio((repeat) => rate('adjudicator_many_accounts', repeat) / rate('raw_many_accounts', repeat)),
    shard_rss_mib: peaks.length === 0 ? null : Math.round(Math.max(...peaks)),
    figures: Object.fromEntries([...runs].map(([name, samples]) => [name, figureOf(samples)])),
    bytes_per_event: bytes ?? { operation: 0, inbox: 0, binlog: null },
    settings: { repeats, events, accounts, many_accounts: manyAccounts, connections, batch_size: batchSize, node: process.version },
  }
}
