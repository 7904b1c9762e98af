import { setTimeout as delay } from 'node:timers/promises'
import { CommandLogError } from '@onceledger/command-log'
import { type CommandToSend, encodeCommand } from '@onceledger/core'
import { checkLedger, loadBalances, loadFigures, loadProgress, type ShardDatabase } from '@onceledger/ledger-store'
import { bucketOf } from '@onceledger/shard-map'
import {
  createTestLedger,
  type Endpoints,
  type Random,
  type ShardProcess,
  type TestLedger,
  topicProgress,
  uuidv7,
  waitForLagZero,
} from '@onceledger/testkit'
import { expect } from 'vitest'
import { booksOf } from './model.ts'

export const TENANT = 'bank'
const CURRENCY = 'EUR'
const LAG_TIMEOUT_MS = 120_000

export function createScenarioLedger(endpoints: Endpoints, name: string): Promise<TestLedger> {
  return createTestLedger({ endpoints, shards: 1, buckets: 8, name })
}

/** The database of a ledger's only shard. */
export function databaseOf(ledger: TestLedger): ShardDatabase {
  const [database] = ledger.databases
  if (database === undefined) throw new Error('the ledger has no shard')
  return database
}

export interface CommandSpec {
  readonly key: string
  readonly operationId: string
  readonly amount: bigint
}

export function deposit(random: Random, spec: CommandSpec): CommandToSend {
  return command(random, 'deposit.v1', spec)
}

function command(random: Random, type: string, { key, operationId, amount }: CommandSpec): CommandToSend {
  return {
    type,
    tenantId: TENANT,
    businessKey: key,
    eventId: uuidv7(Date.now(), random),
    operationId,
    source: '/onceledger/fault',
    data: { amount: amount.toString(), currency: CURRENCY },
  }
}

/**
 * Deposits to a few accounts and withdrawals from them, some beyond the balance. About one in seven repeats an earlier command: as it was, under a new event id,
 * or with another amount. An account is never withdrawn from before the stream has paid into it.
 */
export function stream(random: Random, count: number, prefix = 'op'): CommandToSend[] {
  const commands: CommandToSend[] = []
  const opened = new Set<string>()
  for (let i = 0; i < count; i++) {
    const earlier = random() < 0.15 ? commands[Math.floor(random() * commands.length)] : undefined
    if (earlier !== undefined) {
      commands.push(repeat(random, earlier))
      continue
    }
    const spec = {
      key: `account-${Math.floor(random() * 40)}`,
      operationId: `${prefix}-${i}`,
      amount: BigInt(1 + Math.floor(random() * 1_000)),
    }
    const withdraws = opened.has(spec.key) && random() < 0.4
    opened.add(spec.key)
    commands.push(command(random, withdraws ? 'withdraw.v1' : 'deposit.v1', spec))
  }
  return commands
}

function repeat(random: Random, earlier: CommandToSend): CommandToSend {
  const kind = random()
  if (kind < 0.45) return earlier
  const eventId = uuidv7(Date.now(), random)
  if (kind < 0.9) return { ...earlier, eventId }
  return { ...earlier, eventId, data: { ...earlier.data, amount: `${earlier.data['amount'] ?? ''}7` } }
}

const CHUNK = 200
const SEND_ATTEMPTS_MAX = 40

/**
 * Sends in order, chunk by chunk. A chunk whose answer is lost is sent again under the same identities, as a client would: the log may then hold it
 * twice, the ledger may not.
 */
export async function send(ledger: TestLedger, commands: readonly CommandToSend[], pauseMs = 0): Promise<void> {
  for (let at = 0; at < commands.length; at += CHUNK) {
    await sendChunk(ledger, commands.slice(at, at + CHUNK))
    if (pauseMs > 0) await delay(pauseMs)
  }
}

async function sendChunk(ledger: TestLedger, commands: readonly CommandToSend[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await ledger.producer.send(ledger.topic, commands.map(encodeCommand))
      return
    } catch (error) {
      if (!(error instanceof CommandLogError) || attempt >= SEND_ATTEMPTS_MAX) throw error
      await delay(250)
    }
  }
}

/** The rows against what the commands alone imply: balances and versions, sums, counts, and the books' own invariants. */
export async function expectBooks(database: ShardDatabase, commands: readonly CommandToSend[]): Promise<void> {
  const implied = booksOf(commands)
  const found = await loadBalances(database)
  const own = new Map(
    found.flatMap(({ businessKey, balanceMinor, version }) =>
      businessKey.startsWith('@') ? [] : [[businessKey, { balanceMinor, version }]],
    ),
  )
  expect(own).toEqual(implied.accounts)
  expect(found.reduce((sum, { balanceMinor }) => sum + balanceMinor, 0n)).toBe(0n)
  expect((await checkLedger(database)).findings).toEqual([])
  expect(await loadFigures(database)).toEqual({
    operations: implied.applied + implied.rejected,
    postings: implied.applied,
    inboxRows: implied.inboxRows,
    audits: implied.audits,
    parked: 0,
    deferred: 0,
    gaps: 0,
  })
}

export interface Tally {
  readonly applied: bigint
  readonly duplicate: bigint
  readonly conflict: bigint
  readonly rejected: bigint
  readonly parked: bigint
}

/** The counts of verdicts that stand beside the offsets, over all partitions. */
export async function loadTally(ledger: TestLedger): Promise<Tally> {
  const sum = { applied: 0n, duplicate: 0n, conflict: 0n, rejected: 0n, parked: 0n }
  for (const { tally } of await loadProgress(databaseOf(ledger), ledger.topic))
    for (const verdict of Object.keys(sum) as (keyof Tally)[]) sum[verdict] += tally[verdict]
  return sum
}

/**
 * Waits for lag zero, then holds rows, offsets and tallies against the list of commands alone.
 * @param earlierMessages judged from a topic of this name that is no more.
 */
export async function expectTruth(ledger: TestLedger, sent: readonly CommandToSend[], earlierMessages = 0n): Promise<void> {
  const { applied, end } = await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, LAG_TIMEOUT_MS)
  expect(applied).toBe(end)
  await expectBooks(databaseOf(ledger), sent)
  const implied = booksOf(sent)
  const tally = await loadTally(ledger)
  // A chunk that was sent twice is in the log twice: more duplicates and conflicts, never more of the rest.
  const resent = end + earlierMessages - BigInt(sent.length)
  expect(resent).toBeGreaterThanOrEqual(0n)
  expect(tally).toMatchObject({ applied: BigInt(implied.applied), rejected: BigInt(implied.rejected), parked: 0n })
  expect(tally.duplicate + tally.conflict).toBe(BigInt(implied.duplicates + implied.conflicts) + resent)
  if (resent === 0n) expect(tally.conflict).toBe(BigInt(implied.conflicts))
}

/** The messages that the database says are done: the first of each partition's, up to its offset, in the order in which they were sent. */
export async function donePrefix(ledger: TestLedger, sent: readonly CommandToSend[]): Promise<CommandToSend[]> {
  const left = new Map((await loadProgress(databaseOf(ledger), ledger.topic)).map(({ partition, nextOffset }) => [partition, nextOffset]))
  return sent.filter(({ tenantId, businessKey }) => {
    const partition = bucketOf(tenantId, businessKey, ledger.bucketCount)
    const more = left.get(partition) ?? 0n
    left.set(partition, more - 1n)
    return more > 0n
  })
}

/** Waits until so many messages are applied. */
export async function waitForApplied(ledger: TestLedger, messages: number): Promise<void> {
  const until = performance.now() + LAG_TIMEOUT_MS
  while ((await topicProgress(ledger.databases, ledger.admin, ledger.topic)).applied < BigInt(messages)) {
    if (performance.now() > until) throw new Error(`${messages} messages were not applied in time`)
    await delay(10)
  }
}

/** The sum of a metric's samples that carry all of the labels; 0 where there is none yet. */
export async function metricOf(shard: ShardProcess, name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
  const text = await (await fetch(`${shard.adminUrl}/metrics`)).text()
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return text
    .split('\n')
    .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}
