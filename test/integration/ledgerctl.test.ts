import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkLedger, defaultControlUrl, withDatabase } from '@onceledger/ledger-store'
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

let ledger: TestLedger
let shards: ShardProcess[] = []
const SHARD_MIGRATIONS = readdirSync('packages/ledger-store/schema/shard').toSorted()
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

function ledgerctl(args: readonly string[], input: string | Buffer = '', env: Readonly<Record<string, string>> = {}): Promise<CliRun> {
  return runLedgerctl({ ...ledger.env(), ...env }, args, input)
}

async function json(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await ledgerctl([...args, '--json'])
  expect([code, stderr]).toEqual([0, ''])
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
  it('founds a system once, however often it is told to, and refuses to found it otherwise', async () => {
    const name = `climig_${randomBytes(4).toString('hex')}`
    const urls = ledger.mysqlUrls.map((url, shard) => withDatabase(url, `${name}_${shard}`))
    const [first = ''] = urls
    const env = { ONCELEDGER_MYSQL_URLS: urls.join(','), ONCELEDGER_CONTROL_URL: defaultControlUrl(first) }
    const migrate = ['migrate', '--json', '--buckets', '4', '--topic', name]
    const unfounded = await ledgerctl(['account', 'show', '--tenant', 't', 'k'], '', env)
    expect([unfounded.code, unfounded.stderr]).toEqual([2, expect.stringContaining('run: ledgerctl migrate')])
    try {
      const runs = [await ledgerctl(migrate, '', env), await ledgerctl(migrate, '', env)].map(({ stdout }) => JSON.parse(stdout) as unknown)
      expect(runs).toMatchObject([
        {
          migrated: ['control/0001_control.sql', ...[0, 1].flatMap((shard) => SHARD_MIGRATIONS.map((file) => `shard-${shard}/${file}`))],
          topic_created: true,
          buckets: 4,
          shards: 2,
        },
        { migrated: [], topic_created: false },
      ])
      expect((await ledger.admin.topicOffsets(name)).size).toBe(4)
      expect(await ledgerctl(['migrate', '--buckets', '8', '--topic', name], '', env)).toMatchObject({ code: 2, stdout: '' })
      expect(await ledgerctl(['check'], '', env)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('the books are right') as string,
      })
    } finally {
      await ledger.admin.deleteTopic(name)
      for (const [shard, database] of ledger.databases.entries())
        await database.withSession((session) =>
          session.run(`DROP DATABASE IF EXISTS ${name}_${shard}; DROP DATABASE IF EXISTS ${name}_0_control`),
        )
    }
  })

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
    expect(await json('event', 'show', '--tenant', 'acme', '--key', 'alice', id)).toMatchObject({
      events: [{ verdict: 'APPLIED', operationId: 'pay-1', sourceOffset: '0', first: { balanceAfterMinor: '9007199254740993' } }],
      waiting: [],
      audits: [],
    })
  })

  it('refuses a file with a bad line whole, naming the line, unless it is told to keep going', async () => {
    const file = join(folder, 'mixed.ndjson')
    writeFileSync(file, `${await line('bob', 'pay-2', '5')}{"specversion":"1.0"}\n`)
    const refused = await ledgerctl(['submit', file])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('line 2: ENVELOPE_INVALID')
    expect((await ledgerctl(['account', 'show', '--tenant', 'acme', 'bob'])).code).toBe(1)
    const kept = await ledgerctl(['submit', '--keep-going', '--json', file])
    expect(kept.code).toBe(4)
    expect(JSON.parse(kept.stdout)).toMatchObject({ submitted: 1, refused: 1, refused_lines: [{ line: 2, reason: 'ENVELOPE_INVALID' }] })
    await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, 30_000)
    expect(await json('account', 'show', '--tenant', 'acme', 'bob')).toMatchObject([{ balanceMinor: '5' }])
  })

  it('refuses standard input whole too, and mends nothing that is not UTF-8', async () => {
    const good = await line('carol', 'pay-3', '7')
    const bad = Buffer.concat([Buffer.from(good.slice(0, 20)), Buffer.from([0xff]), Buffer.from(good.slice(20))])
    const refused = await ledgerctl(['submit', '-'], Buffer.concat([Buffer.from(good), bad]))
    expect([refused.code, refused.stdout]).toEqual([4, ''])
    expect(refused.stderr).toContain('line 2: NOT_UTF8')
    expect((await ledgerctl(['account', 'show', '--tenant', 'acme', 'carol'])).code).toBe(1)
  })

  it('[RTE-1] tells how many commands went to each partition, and where those end now', async () => {
    const lines = [await line('dave', 'pay-4', '1'), await line('erin', 'pay-5', '1'), await line('dave', 'pay-6', '1')]
    const { code, stdout } = await ledgerctl(['submit', '-', '--json'], lines.join(''))
    expect(code).toBe(0)
    const { submitted, partitions } = JSON.parse(stdout) as {
      submitted: number
      partitions: { partition: number; sent: number; end_offset: string }[]
    }
    const bounds = await ledger.admin.topicOffsets(ledger.topic)
    expect([submitted, partitions.reduce((sum, { sent }) => sum + sent, 0)]).toEqual([3, 3])
    expect(partitions.map(({ partition }) => partition)).toContain(bucketOf('acme', 'dave', ledger.bucketCount))
    for (const { partition, end_offset: end } of partitions) expect(end).toBe(String(bounds.get(partition)?.high))
    await waitForLagZero(ledger.databases, ledger.admin, ledger.topic, 30_000)
    expect(await json('account', 'show', '--tenant', 'acme', 'dave')).toMatchObject([{ balanceMinor: '2', version: '2' }])
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
    expect([total('applied'), total('duplicate'), total('parked')]).toEqual([5, 1, 1])
  })

  it('[ADJ-9] finds the books right, and says so when a balance was changed by hand', async () => {
    const { ok, shards: checked } = (await json('check')) as { ok: boolean; shards: { figures: Record<string, number> }[] }
    const figure = (name: string): number => checked.reduce((sum, { figures }) => sum + (figures[name] ?? 0), 0)
    expect([ok, figure('accounts'), figure('appliedOperations'), figure('postings'), figure('inboxRows'), figure('parked')]).toEqual([
      true,
      4,
      5,
      5,
      5,
      1,
    ])
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

  const ZERO = 'the balances of a tenant and currency sum to zero'
  const VERSIONS = "an account's versions count its postings without gaps"
  const DAVE = `(SELECT aggregate_id FROM account WHERE business_key = 'dave')`
  it.each([
    {
      what: 'a version that no posting made',
      break: `UPDATE account SET version = version + 1 WHERE business_key = 'bob'`,
      mend: `UPDATE account SET version = version - 1 WHERE business_key = 'bob'`,
      expected: [VERSIONS],
    },
    {
      what: 'a gap in the versions of the postings',
      break: `UPDATE operation SET account_version = 9 WHERE account_version = 2 AND aggregate_id = ${DAVE}`,
      mend: `UPDATE operation SET account_version = 2 WHERE account_version = 9 AND aggregate_id = ${DAVE}`,
      expected: [VERSIONS],
    },
    {
      what: 'an amount of a posting changed by hand',
      break: `UPDATE operation SET amount = amount + 1 WHERE account_version = 2 AND aggregate_id = ${DAVE}`,
      mend: `UPDATE operation SET amount = amount - 1 WHERE account_version = 2 AND aggregate_id = ${DAVE}`,
      expected: ["an account's balance is the sum of its postings", "a bucket's external account is the opposite of the bucket's postings"],
    },
    {
      what: 'an external account changed by hand',
      break: `UPDATE account SET balance = balance + 1 WHERE business_key LIKE '@external/%'
        AND bucket = (SELECT bucket FROM (SELECT bucket FROM account WHERE business_key = 'dave') AS d)`,
      mend: `UPDATE account SET balance = balance - 1 WHERE business_key LIKE '@external/%'
        AND bucket = (SELECT bucket FROM (SELECT bucket FROM account WHERE business_key = 'dave') AS d)`,
      expected: [ZERO, "a bucket's external account is the opposite of the bucket's postings"],
    },
    {
      what: 'postings whose account is gone',
      break: `CREATE TABLE kept SELECT * FROM account WHERE business_key = 'dave'; DELETE FROM account WHERE business_key = 'dave'`,
      mend: 'INSERT INTO account SELECT * FROM kept; DROP TABLE kept',
      expected: [ZERO, 'every posting has its account'],
    },
    {
      what: 'a sequence that stands where nobody took a version',
      break: `INSERT INTO sequence_head (aggregate_id, tenant_no, business_key, bucket, version) SELECT aggregate_id, tenant_no, business_key, bucket, 3
        FROM account WHERE business_key = 'dave'`,
      mend: `DELETE FROM sequence_head WHERE business_key = 'dave'`,
      expected: ['a sequence stands at the last version that was taken, without gaps before it'],
    },
    {
      what: 'a gap in the versions that were taken',
      break: `INSERT INTO sequence_head (aggregate_id, tenant_no, business_key, bucket, version) SELECT aggregate_id, tenant_no, business_key, bucket, 3
        FROM account WHERE business_key = 'dave';
        INSERT INTO sequence_step SELECT aggregate_id, 1, 1, x'00' FROM sequence_head; INSERT INTO sequence_step SELECT aggregate_id, 3, 1, x'01' FROM sequence_head`,
      mend: 'DELETE FROM sequence_head; DELETE FROM sequence_step',
      expected: ['a sequence stands at the last version that was taken, without gaps before it'],
    },
    {
      what: 'a command that waited and is gone',
      break: `UPDATE applied_offset SET deferred_count = 1 WHERE partition_no = (SELECT bucket FROM account WHERE business_key = 'dave')`,
      mend: 'UPDATE applied_offset SET deferred_count = 0',
      expected: ['as many commands wait as each partition counts'],
    },
  ])('[ADJ-9] finds $what', async ({ break: harm, mend, expected }) => {
    const onAll = (sql: string) => Promise.all(ledger.databases.map((database) => database.withSession((session) => session.run(sql))))
    const invariants = async () => {
      const found = (await Promise.all(ledger.databases.map(checkLedger))).flatMap(({ findings }) => findings)
      return found.map(({ invariant }) => invariant)
    }
    await onAll(harm)
    expect(await invariants()).toEqual(expected)
    await onAll(mend)
    expect(await invariants()).toEqual([])
  })

  it('[ADJ-8] moves an offset only when it is told to mean it, only inside of the log, and only where there is one', async () => {
    const reset = (partition: number, to: string, ...more: readonly string[]): Promise<CliRun> =>
      ledgerctl(['offsets', 'reset', '--partition', String(partition), '--to', to, ...more])
    const refused = await reset(3, '0')
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Say --yes')])
    const outside = await reset(3, '999', '--yes')
    expect([outside.code, outside.stderr]).toEqual([2, expect.stringContaining('is not in the log')])
    const bounds = await ledger.admin.topicOffsets(ledger.topic)
    const untouched = [...bounds].find(([, { high }]) => high === 0n)?.[0] ?? -1
    const absent = await reset(untouched, '0', '--yes')
    expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining('no position to move')])

    const partition = bucketOf('acme', 'alice', ledger.bucketCount)
    expect(await reset(partition, '0', '--yes')).toMatchObject({ code: 0, stderr: '' })
    // The running process notices that its position is no longer the database's, and judges again what it has judged.
    await submitAndWait(await line('alice', 'pay-7', '1'))
    expect(await json('account', 'show', '--tenant', 'acme', 'alice')).toMatchObject([{ balanceMinor: '9007199254740994', version: '2' }])
    expect(await json('check')).toMatchObject({ ok: true })
  })

  it('refuses shards in a wrong order, and too few of them', async () => {
    const swapped = { ONCELEDGER_MYSQL_URLS: ledger.mysqlUrls.toReversed().join(',') }
    const fewer = { ONCELEDGER_MYSQL_URLS: ledger.mysqlUrls.slice(0, 1).join(',') }
    for (const args of [['check'], ['shards'], ['parked', 'list'], ['account', 'show', '--tenant', 'acme', 'alice']]) {
      const { code, stderr } = await ledgerctl(args, '', swapped)
      expect([code, stderr]).toEqual([2, expect.stringContaining('check the MySQL URLs and their order')])
    }
    for (const args of [['check'], ['shards'], ['parked', 'list']]) {
      const { code, stderr } = await ledgerctl(args, '', fewer)
      expect([code, stderr]).toEqual([2, expect.stringContaining('name all')])
    }
  })

  it('says that a server cannot be reached', async () => {
    const child = await ledgerctl(['shards'], '', {
      ONCELEDGER_MYSQL_URLS: 'mysql://a:b@127.0.0.1:1/x',
      ONCELEDGER_CONTROL_URL: '',
      ONCELEDGER_KAFKA_BROKERS: '127.0.0.1:1',
    })
    expect(child).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('ECONNREFUSED') as string })
  })
})
