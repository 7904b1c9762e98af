import { setTimeout as delay } from 'node:timers/promises'
import type { PlacedRecord, ResultProducer } from '@onceledger/command-log'
import { encodeResult } from '@onceledger/core'
import { type Batch, createAdjudicator, NO_FAILPOINTS, type Published, type Row, type ShardDatabase } from '@onceledger/ledger-store'
import { type BenchLedger, nowUs } from '../adjudication/ledger.ts'
import { BENCH_BUCKETS, type Lanes } from '../adjudication/workload.ts'

/**
 * The plain way to publish results, built here only to be measured: a row of an outbox for each event in the transaction that judges, and a relay
 * that reads, sends and deletes them. Against it: the results of a committed batch are sent from memory.
 */
export type OutboxKind = 'rows' | 'memory'

const RELAY_ROWS = 2_000
const IDLE_MS = 2

export async function createOutboxTable(ledger: BenchLedger): Promise<void> {
  await ledger.database.withSession((session) =>
    session.run(`CREATE TABLE bench_outbox (
      id           BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
      partition_no INT UNSIGNED NOT NULL,
      result_key   VARBINARY(200) NOT NULL,
      result       MEDIUMBLOB NOT NULL,
      PRIMARY KEY (id)
    ) ENGINE = InnoDB`),
  )
}

/** Judges all lanes and publishes every result; ends when the last one is acknowledged. */
export async function runPublishing(
  ledger: BenchLedger,
  lanes: Lanes,
  kind: OutboxKind,
  relayDatabase: ShardDatabase,
  producer: ResultProducer,
  topic: string,
): Promise<void> {
  const events = lanes.flat().reduce((sum, { items }) => sum + items.length, 0)
  const queue: PlacedRecord[] = []
  const relay = kind === 'rows' ? relayRows(relayDatabase, producer, topic, events) : relayMemory(queue, producer, topic, events)
  await Promise.all(
    lanes.map(async (batches) => {
      const lane = createLane(ledger, kind)
      for (const batch of batches) {
        const results = await lane(batch)
        if (kind === 'memory') for (const result of results) queue.push(toRecord(batch.source.partition, result))
      }
    }),
  )
  await relay
}

/** A lane's adjudicator; with rows, its write packet carries their insert before the COMMIT. */
function createLane(ledger: BenchLedger, kind: OutboxKind): (batch: Batch) => Promise<readonly Published[]> {
  const { names, registry } = ledger
  let rows: string[] = []
  const database: ShardDatabase = {
    close: () => ledger.database.close(),
    withSession: (work) => ledger.database.withSession((session) => work({ run: (sql) => session.run(withRows(sql, rows)) })),
  }
  const adjudicator = createAdjudicator({
    database: kind === 'rows' ? database : ledger.database,
    names,
    registry,
    bucketCount: BENCH_BUCKETS,
    publishing: true,
    nowUs,
    failpoints: NO_FAILPOINTS,
    random: Math.random,
    sleep: (ms) => delay(ms),
  })
  return async (batch) => {
    // Of a fresh deposit the result is known in size and shape before it is judged: its row costs what the real one would.
    rows = kind === 'rows' ? batch.items.map((item) => rowOf(batch, item)) : []
    const outcome = await adjudicator.judge(batch)
    if (outcome.kind !== 'committed') throw new Error(`the adjudicator answered ${outcome.kind}`)
    return outcome.results
  }
}

function withRows(sql: string, rows: readonly string[]): string {
  if (rows.length === 0 || !sql.endsWith(';COMMIT')) return sql
  return `${sql.slice(0, -'COMMIT'.length)}INSERT INTO bench_outbox (partition_no, result_key, result) VALUES ${rows.join(',')};COMMIT`
}

function rowOf(batch: Batch, item: Batch['items'][number]): string {
  if (item.kind !== 'command') throw new Error('a batch of this benchmark holds commands only')
  const { command } = item
  const first = {
    verdict: 'APPLIED',
    reason: null,
    currency: 'EUR',
    amountMinor: 100n,
    accountVersion: 10n,
    balanceAfterMinor: 10_000n,
    committedAtUs: nowUs(),
  } as const
  const { key, value } = encodeResult({ record: command.record, command, judgement: { verdict: 'APPLIED', reason: null, first } })
  return `(${batch.source.partition},x'${Buffer.from(key ?? '').toString('hex')}',x'${Buffer.from(value).toString('hex')}')`
}

function toRecord(partition: number, result: Published): PlacedRecord {
  return { partition, ...encodeResult(result) }
}

async function relayRows(database: ShardDatabase, producer: ResultProducer, topic: string, events: number): Promise<void> {
  for (let sent = 0; sent < events; ) {
    const [rows = []] = await database.withSession((session) =>
      session.run(`SELECT id, partition_no, result_key, result FROM bench_outbox ORDER BY id LIMIT ${RELAY_ROWS}`),
    )
    if (rows.length === 0) {
      await delay(IDLE_MS)
      continue
    }
    await producer.send(topic, rows.map(recordOfRow))
    await database.withSession((session) =>
      session.run(`DELETE FROM bench_outbox WHERE id IN (${rows.map(([id]) => String(id)).join(',')})`),
    )
    sent += rows.length
  }
}

function recordOfRow([, partition, key, value]: Row): PlacedRecord {
  return { partition: Number(partition), key: key as Buffer, value: value as Buffer }
}

async function relayMemory(queue: PlacedRecord[], producer: ResultProducer, topic: string, events: number): Promise<void> {
  for (let sent = 0; sent < events; ) {
    const records = queue.splice(0, RELAY_ROWS)
    if (records.length === 0) {
      await delay(IDLE_MS)
      continue
    }
    await producer.send(topic, records)
    sent += records.length
  }
}
