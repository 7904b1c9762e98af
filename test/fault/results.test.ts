import type { CommandToSend } from '@onceledger/core'
import { loadFigures } from '@onceledger/ledger-store'
import {
  endpointsFromEnv,
  type Random,
  seededRandom,
  startShardProcess,
  type TestLedger,
  uuidv7,
  waitForLagZero,
  waitForPublished,
} from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type PublishedResult, readResults, withoutRepeats } from './support/results.ts'
import { createScenarioLedger, databaseOf, send, TENANT } from './support/scenario.ts'

const KEYS = 12
const VERSIONS = 60
const LAG_TIMEOUT_MS = 60_000

let ledger: TestLedger
beforeEach(async () => {
  ledger = await createScenarioLedger(endpointsFromEnv(), 'results')
})
afterEach(() => ledger.close({ drop: true }))

function command(
  random: Random,
  type: string,
  key: number,
  operationId: string,
  data: Record<string, string>,
  version?: number,
): CommandToSend {
  return {
    type,
    tenantId: TENANT,
    businessKey: `account-${key}`,
    eventId: uuidv7(Date.now(), random),
    operationId,
    ...(version === undefined ? {} : { aggregateVersion: BigInt(version) }),
    source: '/test',
    data: { currency: 'EUR', ...data },
  }
}

/** Every account is opened; then its entries come out of order within a distance, some of them twice. */
function shuffled(random: Random): CommandToSend[] {
  const keys = Array.from({ length: KEYS }, (_, key) => key)
  const opening = keys.map((key) => command(random, 'open.v1', key, 'open', { overdraftLimit: '0' }))
  const entries = Array.from({ length: VERSIONS }, (_, i) => i + 1).flatMap((version) =>
    keys.map((key) => ({
      at: version + random() * 6,
      command: command(random, 'entry.v1', key, `entry-${version}`, { amount: '10' }, version),
    })),
  )
  const again = entries
    .filter(() => random() < 0.2)
    .map(({ at, command: first }) => ({ at: at + 8, command: { ...first, eventId: uuidv7(Date.now(), random) } }))
  return [...opening, ...[...entries, ...again].sort((left, right) => left.at - right.at).map((each) => each.command)]
}

/** What the commands alone imply for their results. */
function expectResults(sent: readonly CommandToSend[], published: readonly PublishedResult[]): void {
  const results = withoutRepeats(published)
  const final = results.filter(({ data }) => data.verdict !== 'DEFERRED')
  expect(final.length).toBe(sent.length)
  const byVerdict = Map.groupBy(final, ({ data }) => data.verdict)
  const operations = new Set(sent.map(({ businessKey, operationId }) => `${businessKey}/${operationId}`))
  expect(byVerdict.get('APPLIED')?.length).toBe(operations.size)
  expect([...byVerdict.keys()].toSorted()).toEqual(['APPLIED', 'DUPLICATE'])
  const history = Map.groupBy(byVerdict.get('APPLIED') ?? [], ({ key }) => key)
  expect(history.size).toBe(KEYS)
  const entries = Array.from({ length: VERSIONS }, (_, i) => ({ aggregateversion: String(i + 1), balanceAfter: String((i + 1) * 10) }))
  for (const applied of history.values())
    expect(
      applied.slice(1).map(({ data }) => ({ aggregateversion: data.command.aggregateversion, balanceAfter: data.first?.balanceAfter })),
      'the results of one key in the order of its commits',
    ).toEqual(entries)
  const firstOf = new Map((byVerdict.get('APPLIED') ?? []).map(({ key, data }) => [`${key}/${data.command.operationid}`, data.first]))
  for (const { key, data } of byVerdict.get('DUPLICATE') ?? [])
    expect(data.first, 'a late duplicate carries the first result').toEqual(firstOf.get(`${key}/${data.command.operationid}`))
}

const env = (): Record<string, string> => ({
  ...ledger.env(),
  ONCELEDGER_SESSION_TIMEOUT_MS: '6000',
  ONCELEDGER_BATCH_RECORDS: '20',
  ONCELEDGER_CONNECTIONS: '2',
})

async function expectAll(sent: readonly CommandToSend[]): Promise<void> {
  await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, LAG_TIMEOUT_MS)
  await waitForPublished(ledger)
  expectResults(sent, await readResults(ledger))
  expect(await loadFigures(databaseOf(ledger))).toMatchObject({ operations: KEYS * (VERSIONS + 1), postings: KEYS * VERSIONS, parked: 0 })
}

describe('results', () => {
  it('[IDN-7] [ORD-2] tell every verdict once, each key in the order of its commits, duplicates with the first result', async () => {
    const sent = shuffled(seededRandom(11))
    const shard = await startShardProcess({ shard: 0, env: env() })
    await send(ledger, sent)
    await expectAll(sent)
    const { code } = await shard.stop()
    expect(code).toBe(0)
    expect(withoutRepeats(await readResults(ledger)).length).toBe((await readResults(ledger)).length)
  })

  it.each([
    'results.before-publish=exit@3',
    'results.after-publish=exit@3',
    'store.inside-batch=exit@20',
    'store.before-commit=exit@20',
    'store.after-commit=exit@20',
  ])('[ADJ-3] [ORD-2] [LAB-2] a process killed at %s loses no result and tells none in another order', async (failpoint) => {
    const sent = shuffled(seededRandom(12))
    await send(ledger, sent)
    const killed = await startShardProcess({ shard: 0, env: { ...env(), ONCELEDGER_FAILPOINTS: failpoint }, expectStart: false })
    expect(await killed.exited).toEqual({ code: null, signal: 'SIGKILL' })
    const next = await startShardProcess({ shard: 0, env: env() })
    await expectAll(sent)
    expect((await next.stop()).code).toBe(0)
  })
})
