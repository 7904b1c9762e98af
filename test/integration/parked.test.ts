import { type CommandToSend, encodeCommand } from '@onceledger/core'
import { loadFigures } from '@onceledger/ledger-store'
import { bucketOf } from '@onceledger/shard-map'
import {
  createTestLedger,
  endpointsFromEnv,
  type ShardProcess,
  startShardProcess,
  type TestLedger,
  waitForLagZero,
} from '@onceledger/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliRun, runLedgerctl } from '../support/ledgerctl.ts'
import { uuidv7 } from '../support/store-ledger.ts'

const LAG_TIMEOUT_MS = 30_000
const TENANT = 'acme'
let ledger: TestLedger
let shard: ShardProcess

beforeAll(async () => {
  ledger = await createTestLedger({ endpoints: endpointsFromEnv(), shards: 1, buckets: 4, name: 'parked' })
  shard = await startShardProcess({ shard: 0, env: ledger.env() })
})
afterAll(async () => {
  await shard.stop()
  await ledger.close({ drop: true })
})

interface Listed {
  readonly id: string
  readonly reason: string
  readonly state: string
  readonly attempts: number
  readonly partition: number
}

const ledgerctl = (...args: readonly string[]): Promise<CliRun> => runLedgerctl(ledger.env(), args)

async function json<T>(...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await ledgerctl(...args, '--json')
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout) as T
}

const list = (...args: readonly string[]): Promise<Listed[]> => json('parked', 'list', ...args)

function command(type: string, key: string, operationId: string, data: Record<string, string>): CommandToSend {
  return { type, tenantId: TENANT, businessKey: key, eventId: uuidv7(), operationId, source: '/test', data: { currency: 'EUR', ...data } }
}

async function send(...records: readonly (Parameters<TestLedger['producer']['send']>[1][number] | CommandToSend)[]): Promise<void> {
  await ledger.producer.send(
    ledger.topic,
    records.map((record) => ('tenantId' in record ? encodeCommand(record) : record)),
  )
  await lagZero()
}

const lagZero = (): Promise<unknown> => waitForLagZero(ledger.databases, ledger.admin, ledger.topic, LAG_TIMEOUT_MS)

async function balanceOf(key: string): Promise<string> {
  const [account] = await json<{ balanceMinor: string }[]>('account', 'show', '--tenant', TENANT, key)
  return account?.balanceMinor ?? ''
}

describe('parked messages', () => {
  it('[ADJ-10] [ADJ-6] are replayed through the same adjudication, and replaying twice has one effect', async () => {
    await send(command('withdraw.v1', 'anna', 'w-1', { amount: '30' }))
    const [parked] = await list('--reason', 'ACCOUNT_NOT_FOUND')
    expect(parked).toMatchObject({ state: 'PARKED', attempts: 1 })
    const id = parked?.id ?? ''

    const dry = await ledgerctl('parked', 'replay', '--shard', '0', id)
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining('Say --yes')])
    expect((await ledgerctl('parked', 'replay', '--shard', '0', id, '--yes', '--by', 'olga')).code).toBe(0)
    await lagZero()
    const again = (await list('--reason', 'ACCOUNT_NOT_FOUND')).at(-1)
    expect(again, 'too early: parked anew, as another try').toMatchObject({ state: 'PARKED', attempts: 2 })
    expect(again?.id).not.toBe(id)

    await send(command('deposit.v1', 'anna', 'd-1', { amount: '100' }))
    expect((await ledgerctl('parked', 'replay', '--reason', 'ACCOUNT_NOT_FOUND', '--yes', '--by', 'olga')).code).toBe(0)
    await lagZero()
    expect(await balanceOf('anna')).toBe('70')
    const refused = await ledgerctl('parked', 'replay', '--shard', '0', id, '--yes')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--again')])
    expect((await ledgerctl('parked', 'replay', '--shard', '0', id, '--yes', '--again', '--by', 'olga')).code).toBe(0)
    await lagZero()
    expect(await balanceOf('anna')).toBe('70')
    const shown = await json<{ state: string; actions: { action: string; actor: string; offset: string }[] }>(
      'parked',
      'show',
      '--shard',
      '0',
      id,
    )
    expect(shown).toMatchObject({
      state: 'REPLAYED',
      actions: [
        { action: 'REPLAYED', actor: 'olga', offset: expect.any(String) as string },
        { action: 'REPLAYED', actor: 'olga' },
      ],
    })
    expect(await list('--reason', 'ACCOUNT_NOT_FOUND')).toEqual([])
  })

  it('[ADJ-10] [RTE-1] that came in a wrong partition are replayed to the right one', async () => {
    const right = bucketOf(TENANT, 'berta', ledger.bucketCount)
    await send({ ...encodeCommand(command('deposit.v1', 'berta', 'd-1', { amount: '5' })), partition: (right + 1) % ledger.bucketCount })
    const [parked] = await list('--reason', 'MISROUTED')
    expect(parked?.partition).not.toBe(right)
    const { replayed } = await json<{ replayed: { partition: number }[] }>('parked', 'replay', '--reason', 'MISROUTED', '--yes')
    expect(replayed).toEqual([expect.objectContaining({ partition: right })])
    await lagZero()
    expect(await balanceOf('berta')).toBe('5')
  })

  it('[ADJ-10] are shown with their exact bytes, and discarded only with a reason, which stays', async () => {
    const key = Buffer.from([0xff, 0x00, 0x41])
    const value = Buffer.from([0x7b, 0xfe, 0x1b])
    await send({ key, value, headers: { trace: Buffer.from([1, 2]), twice: ['a', Buffer.from([0x80])] }, partition: 1 })
    const [parked] = await list('--reason', 'NOT_CLOUDEVENT')
    const id = parked?.id ?? ''
    const shown = await json<Record<string, unknown>>('parked', 'show', '--shard', '0', id)
    expect(shown).toMatchObject({
      topic: ledger.topic,
      partition: 1,
      reason: 'NOT_CLOUDEVENT',
      key: { text: null, base64: key.toString('base64') },
      value: { text: null, base64: value.toString('base64') },
      headers: expect.arrayContaining([
        { name: 'trace', text: '\u0001\u0002', base64: 'AQI=' },
        { name: 'twice', text: 'a', base64: 'YQ==' },
        { name: 'twice', text: null, base64: 'gA==' },
      ]) as unknown[],
    })
    const readable = await ledgerctl('parked', 'show', '--shard', '0', id)
    expect(readable.stdout).toContain(`value     (base64) ${value.toString('base64')}`)

    expect((await ledgerctl('parked', 'discard', '--shard', '0', id, '--yes')).code).toBe(2)
    expect((await ledgerctl('parked', 'discard', '--shard', '0', id, '--reason-text', 'not ours')).stdout).toContain('Say --yes')
    const args = ['parked', 'discard', '--shard', '0', id, '--reason-text', 'not ours', '--by', 'olga', '--yes'] as const
    expect((await ledgerctl(...args)).code).toBe(0)
    expect((await ledgerctl(...args)).code).toBe(1)
    expect(await list('--reason', 'NOT_CLOUDEVENT')).toEqual([])
    expect(await list('--state', 'DISCARDED')).toHaveLength(1)
    expect(await json('parked', 'show', '--shard', '0', id)).toMatchObject({
      state: 'DISCARDED',
      actions: [{ action: 'DISCARDED', actor: 'olga', reason: 'not ours', topic: null }],
    })
    expect((await ledgerctl('parked', 'replay', '--shard', '0', id, '--yes', '--again')).code).toBe(1)
  })

  it('[ADJ-10] are found by group, time and tenant', async () => {
    const before = new Date().toISOString()
    await send(
      command('gift.v1', 'carl', 'g-1', {}),
      command('gift.v1', 'carl', 'g-2', {}),
      command('withdraw.v1', 'nobody', 'w-1', { amount: '1' }),
    )
    const { groups, total } = await json<{ groups: { reason: string; count: number }[]; total: number }>('parked', 'groups')
    expect(groups).toEqual([
      expect.objectContaining({ reason: 'ACCOUNT_NOT_FOUND', count: 1 }),
      expect.objectContaining({ reason: 'UNKNOWN_CONTRACT', count: 2 }),
    ])
    expect(total).toBe(3)
    expect(await list('--since', before)).toHaveLength(3)
    expect(await list('--until', before)).toEqual([])
    expect(await list('--since', before, '--tenant', TENANT)).toHaveLength(1)
    expect((await ledgerctl('parked', 'list', '--since', 'yesterday')).code).toBe(2)
    const limited = await json<{ would_replay: unknown[]; left: number }>(
      'parked',
      'replay',
      '--reason',
      'UNKNOWN_CONTRACT',
      '--limit',
      '1',
    )
    expect([limited.would_replay.length, limited.left]).toEqual([1, 1])
    expect((await loadFigures(ledger.databases[0] as TestLedger['databases'][number])).parked).toBe(3)
  })
})
