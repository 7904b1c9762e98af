import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createTestLedger,
  endpointsFromEnv,
  type ShardProcess,
  startShardProcess,
  type TestLedger,
  waitForLagZero,
} from '@onceledger/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

interface CliRun {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

let ledger: TestLedger
let shards: ShardProcess[] = []
const folder = mkdtempSync(join(tmpdir(), 'onceledger-cli-'))

beforeAll(async () => {
  ledger = await createTestLedger({ endpoints: endpointsFromEnv(), shards: 2, buckets: 8, name: 'cli' })
  shards = await Promise.all([0, 1].map((shard) => startShardProcess({ shard, env: ledger.env() })))
})
afterAll(async () => {
  await Promise.all(shards.map((shard) => shard.stop()))
  await ledger.close({ drop: true })
  rmSync(folder, { recursive: true })
})

function ledgerctl(args: readonly string[], input = ''): Promise<CliRun> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['services/ledgerctl/src/main.ts', ...args],
      { env: { ...process.env, ...ledger.env() }, timeout: 60_000 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
    child.stdin?.end(input)
  })
}

async function json(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await ledgerctl(['--json', ...args])
  expect([code, stderr.replaceAll(/^\(.*\n.*\n/gm, '')]).toEqual([0, expect.any(String)])
  return JSON.parse(stdout)
}

async function line(key: string, operation: string, amount: string): Promise<string> {
  const data = JSON.stringify({ amount, currency: 'EUR' })
  return (await ledgerctl(['command', '--type', 'deposit.v1', '--tenant', 'acme', '--key', key, '--operation', operation, '--data', data]))
    .stdout
}

async function submitAndWait(text: string): Promise<void> {
  expect((await ledgerctl(['submit', '-'], text)).code).toBe(0)
  await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, 30_000)
}

describe('ledgerctl on real servers', () => {
  it('[IDN-7] [IDN-5] sends a command and shows its verdict, also after it was sent again', async () => {
    const text = await line('alice', 'pay-1', '9007199254740993')
    await submitAndWait(text)
    await submitAndWait(text)
    const operation = await json('operation', 'show', '--tenant', 'acme', '--key', 'alice', '--type', 'deposit', 'pay-1')
    expect(operation).toMatchObject({
      result: { verdict: 'APPLIED', amountMinor: '9007199254740993', balanceAfterMinor: '9007199254740993' },
    })
    expect(await json('account', 'show', '--tenant', 'acme', 'alice')).toMatchObject([
      { balanceMinor: '9007199254740993', version: '1', postings: [{ operationId: 'pay-1' }] },
    ])
    const { id } = JSON.parse(text) as { id: string }
    expect(await json('event', 'show', '--tenant', 'acme', '--key', 'alice', id)).toMatchObject([
      { verdict: 'APPLIED', operationId: 'pay-1', sourceOffset: '0' },
    ])
  })

  it('refuses a file with a bad line whole, naming the line, unless it is told to keep going', async () => {
    const file = join(folder, 'mixed.ndjson')
    writeFileSync(file, `${await line('bob', 'pay-2', '5')}{"specversion":"1.0"}\n`)
    const refused = await ledgerctl(['submit', file])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('line 2: ENVELOPE_INVALID')
    expect((await ledgerctl(['account', 'show', '--tenant', 'acme', 'bob'])).code).toBe(1)
    expect((await ledgerctl(['submit', '--keep-going', file])).code).toBe(0)
    await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, 30_000)
    expect(await json('account', 'show', '--tenant', 'acme', 'bob')).toMatchObject([{ balanceMinor: '5' }])
  })

  it('[ADJ-10] lists what could not be judged, with position and reason', async () => {
    await ledger.producer.send(ledger.topic, [{ key: 'x', value: 'garbage', partition: 3 }])
    await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, 30_000)
    expect(await json('parked', 'list', '--reason', 'NOT_CLOUDEVENT')).toMatchObject([
      { partition: 3, reason: 'NOT_CLOUDEVENT', valueBytes: 7, key: 'x' },
    ])
    expect(await json('parked', 'list', '--reason', 'OTHER')).toEqual([])
  })

  it('tells where the shards stand, by exact count', async () => {
    const { shards: rows } = (await json('shards')) as { shards: { lag: string; verdicts: Record<string, string> }[] }
    const total = (name: string): number => rows.reduce((sum, { verdicts }) => sum + Number(verdicts[name]), 0)
    expect(rows.map(({ lag }) => lag)).toEqual(['0', '0'])
    expect([total('applied'), total('duplicate'), total('parked')]).toEqual([2, 1, 1])
  })

  it('[ADJ-9] finds the books right, and says so when a balance was changed by hand', async () => {
    expect(await json('check')).toMatchObject({ ok: true })
    for (const database of ledger.databases)
      await database.withSession((session) => session.run(`UPDATE account SET balance = balance + 1 WHERE business_key = 'bob'`))
    const { code, stdout } = await ledgerctl(['--json', 'check'])
    expect(code).toBe(1)
    const findings = (JSON.parse(stdout) as { shards: { findings: { invariant: string }[] }[] }).shards.flatMap((shard) => shard.findings)
    expect(findings.map(({ invariant }) => invariant)).toEqual([
      'the balances of a tenant and currency sum to zero',
      "an account's balance is the sum of its postings",
    ])
    for (const database of ledger.databases)
      await database.withSession((session) => session.run(`UPDATE account SET balance = balance - 1 WHERE business_key = 'bob'`))
  })

  it('moves an offset only when it is told to mean it', async () => {
    const refused = await ledgerctl(['offsets', 'reset', '--partition', '3', '--to', '0'])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('Say --yes')
  })

  it('says that a server cannot be reached', async () => {
    const child = await new Promise<CliRun>((resolve) => {
      execFile(
        process.execPath,
        ['services/ledgerctl/src/main.ts', 'shards'],
        {
          env: {
            ...process.env,
            ONCELEDGER_MYSQL_URLS: 'mysql://a:b@127.0.0.1:1/x',
            ONCELEDGER_CONTROL_URL: '',
            ONCELEDGER_KAFKA_BROKERS: '127.0.0.1:1',
          },
        },
        (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      )
    })
    expect(child).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('ECONNREFUSED') as string })
  })
})
