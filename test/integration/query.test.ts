import { type CommandToSend, encodeCommand } from '@onceledger/core'
import {
  createTestLedger,
  endpointsFromEnv,
  readResultMessages,
  type ShardProcess,
  startShardProcess,
  type TestLedger,
  waitForLagZero,
} from '@onceledger/testkit'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliRun, runLedgerctl } from '../support/ledgerctl.ts'
import { uuidv7 } from '../support/store-ledger.ts'

const TENANT = 'acme'
const LAG_TIMEOUT_MS = 30_000
let ledger: TestLedger
let shards: ShardProcess[] = []

beforeAll(async () => {
  ledger = await createTestLedger({ endpoints: endpointsFromEnv(), shards: 2, buckets: 8, name: 'query' })
  shards = await Promise.all([0, 1].map((shard) => startShardProcess({ shard, env: ledger.env() })))
})
afterAll(async () => {
  await Promise.all(shards.map((shard) => shard.stop()))
  await ledger.close({ drop: true })
})

const ledgerctl = (args: readonly string[], input = ''): Promise<CliRun> => runLedgerctl(ledger.env(), args, input)

async function json(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await ledgerctl([...args, '--json'])
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

interface Spec {
  readonly type: string
  readonly key: string
  readonly operationId: string
  readonly data: Readonly<Record<string, string>>
  readonly version?: number
  readonly eventId?: string
}

function command({ type, key, operationId, data, version, eventId = uuidv7() }: Spec): CommandToSend {
  const versioned = version === undefined ? {} : { aggregateVersion: BigInt(version) }
  return {
    type,
    tenantId: TENANT,
    businessKey: key,
    eventId,
    operationId,
    ...versioned,
    source: '/test',
    data: { currency: 'EUR', ...data },
  }
}

const open = (key: string): CommandToSend => command({ type: 'open.v1', key, operationId: 'open', data: { overdraftLimit: '0' } })
const entry = (key: string, version: number, amount = '10', more: Partial<Spec> = {}): CommandToSend =>
  command({ type: 'entry.v1', key, operationId: `entry-${version}`, data: { amount }, version, ...more })
const lines = (...commands: readonly CommandToSend[]): string => commands.map((each) => `${encodeCommand(each).value}\n`).join('')

/** Of readers that are gone, nothing may stay behind. */
async function readerGroups(): Promise<string[]> {
  const admin = new Kafka({ clientId: 'test', brokers: [...ledger.kafkaBrokers], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    return (await admin.listGroups()).groups.map(({ groupId }) => groupId).filter((id) => id.startsWith('onceledger-reader-'))
  } finally {
    await admin.disconnect()
  }
}

async function submit(...commands: readonly CommandToSend[]): Promise<void> {
  expect((await ledgerctl(['submit', '-'], lines(...commands))).code).toBe(0)
  await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, LAG_TIMEOUT_MS)
}

describe('submit --wait', () => {
  it('[IDN-7] shows each verdict, and ends with 0 only when all are applied or known already', async () => {
    const sent = [open('wanda'), entry('wanda', 1), entry('wanda', 2)]
    const first = await ledgerctl(['submit', '-', '--wait', '--json'], lines(...sent))
    expect([first.code, first.stderr]).toEqual([0, ''])
    expect(JSON.parse(first.stdout)).toMatchObject({
      submitted: 3,
      results: [
        { line: 1, key: 'acme/wanda', operationId: 'open', verdict: 'APPLIED', reason: null, balanceAfter: '0' },
        { line: 2, verdict: 'APPLIED', balanceAfter: '10' },
        { line: 3, verdict: 'APPLIED', balanceAfter: '20' },
      ],
    })
    const again = await ledgerctl(['submit', '-', '--wait'], lines(...sent))
    expect(again.code).toBe(0)
    expect(
      again.stdout.match(/^line \d {2}acme\/wanda {2}(open|entry)\.v1 [\w-]+ {2}DUPLICATE of APPLIED {2}balance after \d+$/gm),
    ).toHaveLength(3)
    expect(again.stdout).toMatch(/^3 commands sent to \S+: 3 DUPLICATE$/m)
    expect(await readerGroups()).toEqual([])

    const mixed = lines(
      entry('wanda', 3, '-500'),
      entry('wanda', 2, '11'),
      entry('wanda', 9),
      command({ type: 'gift.v1', key: 'x', operationId: 'g', data: {} }),
    )
    const refused = await ledgerctl(['submit', '-', '--wait', '--timeout-ms', '6000', '--json', '--keep-going'], mixed)
    expect(JSON.parse(refused.stdout)).toMatchObject({
      submitted: 3,
      refused: 1,
      results: [
        { verdict: 'REJECTED', reason: 'INSUFFICIENT_FUNDS' },
        { verdict: 'CONFLICT', reason: 'OTHER_INTENT' },
        { verdict: 'DEFERRED' },
      ],
    })
    expect(refused.code).toBe(5)
  })

  it('[ORD-2] waits for the verdict of a command whose predecessor comes after it', async () => {
    await submit(open('vera'), entry('vera', 2))
    const shown = await ledgerctl(['submit', '-', '--wait', '--timeout-ms', '20000'], lines(entry('vera', 3), entry('vera', 1)))
    expect([shown.code, shown.stderr]).toEqual([0, ''])
    expect(shown.stdout).toMatch(/^line 1 .* entry-3 {2}APPLIED {2}balance after 30$/m)
    expect(shown.stdout).toMatch(/^line 2 .* entry-1 {2}APPLIED {2}balance after 10$/m)
  })

  it('refuses more commands than it keeps before it sends any, also with --keep-going', async () => {
    const many = lines(...Array.from({ length: 10_001 }, (_, i) => entry('none', i + 1)))
    const before = await ledger.admin.topicOffsets(ledger.topic)
    for (const more of [[], ['--keep-going']]) {
      const refused = await ledgerctl(['submit', '-', '--wait', ...more], many)
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('keeps up to 10000 commands, nothing sent')])
    }
    expect([...(await ledger.admin.topicOffsets(ledger.topic))]).toEqual([...before])
  })

  it('says so when results do not come in time', async () => {
    for (const shard of shards) await shard.stop()
    const silent = await ledgerctl(['submit', '-', '--wait', '--timeout-ms', '4000'], lines(open('silent')))
    expect([silent.code, silent.stderr]).toEqual([3, expect.stringContaining('no result within 4000 ms')])
    shards = await Promise.all([0, 1].map((shard) => startShardProcess({ shard, env: ledger.env() })))
  })
})

describe('questions about the past', () => {
  it('[IDN-7] show an account as it stands, as it stood at a version, and at a time', async () => {
    await submit(open('paula'), entry('paula', 1, '100'), entry('paula', 2, '-30'))
    const now = await json('account', 'show', '--tenant', TENANT, 'paula')
    expect(now).toMatchObject([{ balanceMinor: '70', version: '2', limitVersion: '0', sequence: { headVersion: '2', waiting: 0 } }])
    const between = new Date().toISOString()
    await submit(
      entry('paula', 3, '5'),
      command({ type: 'limit.v1', key: 'paula', operationId: 'l', data: { overdraftLimit: '9' }, version: 4 }),
    )
    expect(await json('account', 'show', '--tenant', TENANT, 'paula', '--at', '1', '--postings')).toMatchObject([
      {
        balanceMinor: '75',
        version: '3',
        overdraftLimitMinor: '9',
        limitVersion: '4',
        at: { version: '1', balanceMinor: '100', posting: { operationId: 'entry-1' } },
      },
    ])
    expect(await json('account', 'show', '--tenant', TENANT, 'paula', '--at', between, '--postings', '1')).toMatchObject([
      { at: { version: '2', balanceMinor: '70' }, postings: [{ operationId: 'entry-2', amountMinor: '-30' }] },
    ])
    expect(await json('account', 'show', '--tenant', TENANT, 'paula', '--at', '2000-01-01T00:00:00Z')).toMatchObject([
      { at: { version: '0', balanceMinor: '0' }, postings: [] },
    ])
    const readable = (await ledgerctl(['account', 'show', '--tenant', TENANT, 'paula', '--at', '2', '--postings', '1'])).stdout
    const [, time = ''] = /^as it stood then: balance 70, version 2, made by entry entry-2 at (\S+)$/m.exec(readable) ?? []
    expect(await json('account', 'show', '--tenant', TENANT, 'paula', '--at', time)).toMatchObject([{ at: { version: '2' } }])
    expect((await ledgerctl(['account', 'show', '--tenant', TENANT, 'paula', '--at', 'noon'])).code).toBe(2)
  })

  it('[IDN-6] show an operation with its first result, its reversal, and every refused use of its identity', async () => {
    const [eventId, rivalEvent] = [uuidv7(), uuidv7()]
    const other = entry('otto', 1, '51', { eventId: rivalEvent })
    await submit(open('otto'), entry('otto', 1, '50', { eventId }), other, entry('otto', 1, '7', { operationId: 'rival' }))
    await submit(
      command({ type: 'reverse.v1', key: 'otto', operationId: 'undo', data: { targetType: 'entry', targetOperationId: 'entry-1' } }),
    )
    const shown = await json('operation', 'show', '--tenant', TENANT, '--key', 'otto', '--type', 'entry', 'entry-1')
    expect(shown).toMatchObject({
      operationId: 'entry-1',
      result: { verdict: 'APPLIED', amountMinor: '50', balanceAfterMinor: '50' },
      reversed_by: { type: 'reverse', operationId: 'undo' },
      audits: [
        {
          kind: 'CONFLICT',
          operationId: 'entry-1',
          intent: { amount: '51' },
          firstOperation: 'entry/entry-1',
          seenCount: 1,
          topic: ledger.topic,
        },
        { kind: 'CONFLICT', operationId: 'rival', intent: { amount: '7' }, firstOperation: 'entry/entry-1' },
      ],
    })
    const readable = await ledgerctl(['operation', 'show', '--tenant', TENANT, '--key', 'otto', '--type', 'entry', 'entry-1'])
    expect(readable.stdout).toMatch(/first result: APPLIED 50 EUR[\s\S]*reversed by reverse undo[\s\S]*CONFLICT {2}entry entry-1/)
    expect(await json('event', 'show', '--tenant', TENANT, '--key', 'otto', eventId)).toMatchObject({
      events: [{ verdict: 'APPLIED', type: 'entry', operationId: 'entry-1', topic: ledger.topic, first: { balanceAfterMinor: '50' } }],
    })
    const rival = await ledgerctl(['event', 'show', '--tenant', TENANT, '--key', 'otto', rivalEvent])
    expect(rival.stdout).toMatch(
      /CONFLICT OTHER_INTENT[\s\S]*which stands with another intent: APPLIED 50 EUR[\s\S]*came from \S+ partition \d offset \d+/,
    )
  })

  it('[RTE-2] find a tenant-wide operation without its key, and its conflicts with it', async () => {
    const pay = (key: string): CommandToSend => command({ type: 'pay.v1', key, operationId: 'payment-1', data: { amount: '3' } })
    await submit(open('pia'), entry('pia', 1, '10'), open('quinn'), entry('quinn', 1, '10'), pay('pia'), pay('quinn'))
    const results = (await readResultMessages(ledger)).map(
      ({ value }) => JSON.parse(value) as { businesskey: string; data: { verdict: string; command: { operationid: string } } },
    )
    const winner = results.find(({ data }) => data.command.operationid === 'payment-1' && data.verdict === 'APPLIED')?.businesskey
    const loser = winner === 'pia' ? 'quinn' : 'pia'
    expect(await json('operation', 'show', '--tenant', TENANT, '--type', 'pay', 'payment-1')).toMatchObject({
      key: winner,
      result: { verdict: 'APPLIED', amountMinor: '-3' },
      topic: ledger.topic,
      claimed_by: { businessKey: winner },
      // Refused under another key, perhaps in another shard.
      audits: [{ kind: 'CONFLICT', businessKey: loser, intent: { amount: '3' }, seenCount: 1 }],
    })
    expect(await json('operation', 'show', '--tenant', TENANT, '--key', loser, '--type', 'pay', 'payment-1')).toMatchObject({
      key: loser,
      claimed_by: { businessKey: winner },
      audits: [{ kind: 'CONFLICT', businessKey: loser }],
    })
    const neither = await ledgerctl(['operation', 'show', '--tenant', TENANT, '--key', 'nobody', '--type', 'pay', 'payment-1'])
    expect([neither.code, neither.stderr]).toEqual([1, expect.stringContaining(`it belongs to ${TENANT}/${winner}`)])
    expect((await ledgerctl(['operation', 'show', '--tenant', TENANT, '--type', 'entry', 'entry-1'])).code).toBe(2)
  })

  it('[ORD-3] list gaps with what is missing and how long it is waited for, and show what waits', async () => {
    const ahead = entry('gustav', 4)
    await submit(open('gustav'), entry('gustav', 1), ahead, entry('gustav', 6))
    const gaps = (await json('gaps', 'list', '--tenant', TENANT)) as { businessKey: string }[]
    expect(gaps.find(({ businessKey }) => businessKey === 'gustav')).toMatchObject({
      tenant: TENANT,
      headVersion: '1',
      missing: [
        { from: '2', to: '3' },
        { from: '5', to: '5' },
      ],
      waiting: 2,
      requests: 0,
      age_seconds: expect.any(Number) as number,
    })
    expect((await ledgerctl(['gaps', 'list'])).stdout).toMatch(/gustav\s+1\s+2-3,5\s+2/)
    expect(await json('event', 'show', '--tenant', TENANT, '--key', 'gustav', ahead.eventId)).toMatchObject({
      events: [],
      waiting: [{ type: 'entry', operationId: 'entry-4', version: '4' }],
    })
    await submit(entry('gustav', 2), entry('gustav', 3), entry('gustav', 5))
    expect(
      ((await json('gaps', 'list', '--tenant', TENANT)) as { businessKey: string }[]).map(({ businessKey }) => businessKey),
    ).not.toContain('gustav')
  })
})
