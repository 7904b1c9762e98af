import { type CommandToSend, encodeCommand } from '@onceledger/core'
import { loadBalances, loadFigures, loadPostings, type LedgerFigures } from '@onceledger/ledger-store'
import {
  createTestLedger,
  readResultMessages,
  seededRandom,
  type TestLedger,
  topicProgress,
  waitForLagZero,
  waitForPublished,
} from '@onceledger/testkit'
import type { BankTransaction } from './bank-file.ts'
import { commandsOf, repeatOf, shuffleWindows } from './commands.ts'
import { expectedState } from './expected.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { type FoundState, type Judgement, judge } from './judge.ts'

export interface DemoOptions {
  readonly transactions: readonly BankTransaction[]
  readonly mysqlUrls: readonly string[]
  readonly kafkaBrokers: readonly string[]
  readonly keep: boolean
  readonly shuffleRows: number
  readonly seed: number
  readonly onProgress: (line: string) => void
}

export interface DemoResult {
  readonly judgement: Judgement
  readonly messages: number
  readonly newMessages: number
  readonly accounts: number
  readonly outOfOrder: number
  readonly kills: number
  /** From the first message sent to the last one applied, the stop and restart of a process included. */
  readonly seconds: number
  readonly ledger: { readonly topic: string; readonly mysqlUrls: readonly string[] }
}

const SHARDS = 2
const BUCKETS = 64
const SEND_CHUNK = 1_000
/** Share of the first pass that is applied when the process is killed: it is in the middle of its work. */
const KILL_AT = 0.1
const LAG_TIMEOUT_MS = 300_000
const POLL_MS = 10

/** Sends every bank transaction twice through real servers, kills a process on the way, and judges the end by the bank's own figures. */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const { mysqlUrls, kafkaBrokers, shuffleRows, seed, onProgress } = options
  const random = seededRandom(seed)
  const transactions = shuffleWindows(options.transactions, shuffleRows, random)
  const first = commandsOf(transactions, Date.now(), random)
  const second = repeatOf(first, Date.now(), random)
  const expected = expectedState(transactions, [...first, ...second])
  onProgress(`founding a ledger of ${SHARDS} shards and ${BUCKETS} buckets`)
  const ledger = await createTestLedger({ endpoints: { mysqlUrls, kafkaBrokers }, shards: SHARDS, buckets: BUCKETS, name: 'demo' })
  let fleet: Fleet | null = null
  try {
    onProgress(`starting ${SHARDS + 1} shard processes`)
    fleet = await startFleet(ledger, SHARDS)
    const startedMs = performance.now()
    onProgress(`sending ${first.length} commands, then all of them again`)
    const sending = sendAll(ledger, [first, second], onProgress)
    const kills = await killInTheMiddle(ledger, fleet, first.length, onProgress)
    await sending
    onProgress('waiting until every message is applied')
    await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, LAG_TIMEOUT_MS)
    const seconds = (performance.now() - startedMs) / 1000
    await waitForPublished(ledger)
    await fleet.stop()
    fleet = null
    onProgress("comparing with the bank's own balances")
    const judgement = judge(expected, await readState(ledger))
    const newMessages = second.filter((command, i) => command.eventId !== first[i]?.eventId).length
    const { topic, mysqlUrls: urls } = ledger
    return {
      judgement,
      messages: expected.messages,
      newMessages,
      accounts: expected.balances.size,
      outOfOrder: expected.outOfOrder,
      kills,
      seconds,
      ledger: { topic, mysqlUrls: urls },
    }
  } finally {
    await fleet?.stop()
    await ledger.close({ drop: !options.keep })
  }
}

async function sendAll(
  ledger: TestLedger,
  passes: readonly (readonly CommandToSend[])[],
  onProgress: (line: string) => void,
): Promise<void> {
  for (const [pass, commands] of passes.entries()) {
    for (let sent = 0; sent < commands.length; sent += SEND_CHUNK)
      await ledger.producer.send(ledger.topic, commands.slice(sent, sent + SEND_CHUNK).map(encodeCommand))
    onProgress(`pass ${pass + 1} sent`)
  }
}

/** Not at a fixed time: when a part of the first pass is applied, and most of it is not. */
async function killInTheMiddle(ledger: TestLedger, fleet: Fleet, firstPass: number, onProgress: (line: string) => void): Promise<number> {
  const until = performance.now() + LAG_TIMEOUT_MS
  while (performance.now() < until) {
    const { applied } = await topicProgress(ledger.databases, ledger.admin, ledger.topic)
    if (applied >= BigInt(Math.ceil(firstPass * KILL_AT))) {
      onProgress(`SIGKILL to a process of shard 0 after ${applied} messages, and a new one in its place`)
      await fleet.killOne()
      return 1
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return 0
}

async function readState(ledger: TestLedger): Promise<FoundState> {
  const balances = (await Promise.all(ledger.databases.map(loadBalances))).flat()
  const postings = (await Promise.all(ledger.databases.map(loadPostings))).flat()
  const figures = (await Promise.all(ledger.databases.map(loadFigures))).reduce(addFigures)
  const { partitions, end: logEnd } = await topicProgress(ledger.databases, ledger.admin, ledger.topic)
  return { balances, postings, figures, partitions, logEnd, resultsPublished: countFinal(await readResultMessages(ledger)) }
}

function addFigures(left: LedgerFigures, right: LedgerFigures): LedgerFigures {
  return {
    operations: left.operations + right.operations,
    postings: left.postings + right.postings,
    inboxRows: left.inboxRows + right.inboxRows,
    audits: left.audits + right.audits,
    parked: left.parked + right.parked,
    deferred: left.deferred + right.deferred,
    gaps: left.gaps + right.gaps,
  }
}

/** Results that a consumer keeps: each id once, without the interim answers of commands that had to wait. */
function countFinal(messages: readonly { readonly value: string }[]): number {
  const ids = new Set<unknown>()
  for (const { value } of messages) {
    const { id, data } = JSON.parse(value) as { id: unknown; data: { verdict: unknown } }
    if (data.verdict !== 'DEFERRED') ids.add(id)
  }
  return ids.size
}
