import { setTimeout as delay } from 'node:timers/promises'
import { CommandLogError } from '@onceledger/command-log'
import { type CommandToSend, encodeCommand } from '@onceledger/core'
import { checkLedger, loadBalances, loadFigures } from '@onceledger/ledger-store'
import { createTestLedger, type Endpoints, type Random, type TestLedger, topicProgress, uuidv7, waitForLagZero } from '@onceledger/testkit'
import { expect } from 'vitest'

export const TENANT = 'bank'
const CURRENCY = 'EUR'
const LAG_TIMEOUT_MS = 120_000

export function createScenarioLedger(endpoints: Endpoints, name: string): Promise<TestLedger> {
  return createTestLedger({ endpoints, shards: 1, buckets: 8, name })
}

export interface CommandSpec {
  readonly key: string
  readonly operationId: string
  readonly amount: bigint
}

export function deposit(random: Random, { key, operationId, amount }: CommandSpec): CommandToSend {
  return {
    type: 'deposit.v1',
    tenantId: TENANT,
    businessKey: key,
    eventId: uuidv7(Date.now(), random),
    operationId,
    source: '/onceledger/fault',
    data: { amount: amount.toString(), currency: CURRENCY },
  }
}

/** Deposits to a few accounts; about one in seven repeats an earlier operation, half of these under a new event id. */
export function stream(random: Random, count: number, prefix = 'op'): CommandToSend[] {
  const commands: CommandToSend[] = []
  for (let i = 0; i < count; i++) {
    const earlier = random() < 0.15 ? commands[Math.floor(random() * commands.length)] : undefined
    if (earlier !== undefined) commands.push(random() < 0.5 ? earlier : { ...earlier, eventId: uuidv7(Date.now(), random) })
    else
      commands.push(
        deposit(random, {
          key: `account-${Math.floor(random() * 40)}`,
          operationId: `${prefix}-${i}`,
          amount: BigInt(1 + Math.floor(random() * 1_000)),
        }),
      )
  }
  return commands
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

/**
 * What the input implies, computed from the list of commands alone: each operation once, at its first amount; every event once in the inbox. Then
 * compared with the rows, the offsets and the tallies.
 */
export async function expectTruth(ledger: TestLedger, sent: readonly CommandToSend[]): Promise<void> {
  const progress = await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, LAG_TIMEOUT_MS)
  const operations = new Map<string, CommandToSend>()
  for (const command of sent) {
    const identity = `${command.businessKey} ${command.type} ${command.operationId}`
    if (!operations.has(identity)) operations.set(identity, command)
  }
  const balances = new Map<string, bigint>()
  for (const { businessKey, data } of operations.values())
    balances.set(businessKey, (balances.get(businessKey) ?? 0n) + BigInt(data['amount'] ?? '0'))

  const [database] = ledger.databases
  if (database === undefined) throw new Error('the ledger has no shard')
  const found = await loadBalances(database)
  const own = new Map(found.flatMap(({ businessKey, balanceMinor }) => (businessKey.startsWith('@') ? [] : [[businessKey, balanceMinor]])))
  expect(own).toEqual(balances)
  expect(found.reduce((sum, { balanceMinor }) => sum + balanceMinor, 0n)).toBe(0n)
  expect(await checkLedger(database)).toEqual([])
  const figures = await loadFigures(database)
  expect(figures).toEqual({
    operations: operations.size,
    postings: operations.size,
    inboxRows: new Set(sent.map(({ eventId }) => eventId)).size,
    audits: 0,
    parked: 0,
  })
  const tally = progress.partitions.reduce(
    (sum, { tally: each }) => sum + each.applied + each.duplicate + each.conflict + each.rejected + each.parked,
    0n,
  )
  expect({ tally, applied: progress.applied }).toEqual({ tally: progress.end, applied: progress.end })
}

/** Waits until so many messages are applied. */
export async function waitForApplied(ledger: TestLedger, messages: number): Promise<void> {
  const until = performance.now() + LAG_TIMEOUT_MS
  while ((await topicProgress(ledger.databases, ledger.admin, ledger.topic)).applied < BigInt(messages)) {
    if (performance.now() > until) throw new Error(`${messages} messages were not applied in time`)
    await delay(10)
  }
}
