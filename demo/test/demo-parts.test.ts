import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  adjudicate,
  type CommandToSend,
  createContractRegistry,
  decodeRecord,
  EMPTY_STATE,
  encodeCommand,
  MONEY_CONTRACTS,
} from '@onceledger/core'
import { seededRandom } from '@onceledger/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { readArguments, UsageError } from '../src/arguments.ts'
import { BankFileError, readBankFile } from '../src/bank-file.ts'
import { commandsOf, overdraftLimits, repeatOf, shuffleWindows } from '../src/commands.ts'
import { expectedState } from '../src/expected.ts'
import { type FoundState, judge } from '../src/judge.ts'

const folder = mkdtempSync(join(tmpdir(), 'onceledger-demo-'))
afterAll(() => rmSync(folder, { recursive: true }))

function fileOf(...lines: readonly string[]): string {
  const path = join(folder, `${lines.length}-${Math.abs(lines.join().length)}.ndjson`)
  writeFileSync(path, lines.join('\n'))
  return path
}

const line = (id: number, account: number, amount: string, after: string, version: number): string =>
  JSON.stringify({ trans_id: id, account_id: account, amount_minor: amount, balance_after_minor: after, account_version: version })

const FILE = [line(1, 7, '500', '500', 1), line(3, 8, '900719925474099300', '900719925474099300', 1), line(2, 7, '-200', '300', 2)]

describe('the bank file', () => {
  it('[IDN-5] is read in its own order, with money as whole numbers of any size', async () => {
    const transactions = await readBankFile(fileOf(...FILE), Number.POSITIVE_INFINITY)
    expect(transactions.map(({ accountId, amountMinor }) => [accountId, amountMinor])).toEqual([
      ['7', 500n],
      ['8', 900719925474099300n],
      ['7', -200n],
    ])
  })

  it('can be cut to its first accounts', async () => {
    expect((await readBankFile(fileOf(...FILE), 1)).map(({ accountId }) => accountId)).toEqual(['7', '7'])
  })

  it.each([
    ['no JSON', '{', /:1: not JSON/],
    ['a fraction', line(1, 7, '1.5', '1', 1), /:1: amount_minor/],
    ['a zero amount', line(1, 7, '0', '1', 1), /:1: amount_minor: must not be zero/],
    ['no account', '{"trans_id":1}', /:1: account_id/],
  ])('names the line that has %s', async (_what, text, message) => {
    await expect(readBankFile(fileOf(text), 1)).rejects.toThrow(message)
  })

  it('that does not exist is an error of the user', async () => {
    await expect(readBankFile(join(folder, 'missing'), 1)).rejects.toBeInstanceOf(BankFileError)
  })
})

describe('the judge', () => {
  const random = seededRandom(1)

  async function scene(): Promise<{ expected: ReturnType<typeof expectedState>; found: FoundState }> {
    const transactions = await readBankFile(fileOf(...FILE), Number.POSITIVE_INFINITY)
    const first = commandsOf(transactions, 1_700_000_000_000, random)
    const messages = [...first, ...repeatOf(first, 1_700_000_000_000, random)]
    const expected = expectedState(transactions, messages)
    const tally = { applied: 5n, duplicate: 5n, conflict: 0n, rejected: 0n, parked: 0n, deferred: 0n, stale: 0n }
    const posting = (businessKey: string, accountVersion: bigint, balanceAfterMinor: bigint) => ({
      businessKey,
      currency: 'CZK',
      accountVersion,
      balanceAfterMinor,
    })
    const balance = (businessKey: string, balanceMinor: bigint) => ({ businessKey, currency: 'CZK', balanceMinor, version: 1n })
    const found = {
      balances: [balance('account-7', 300n), balance('account-8', 900719925474099300n), balance('@external/1', -900719925474099600n)],
      postings: [posting('account-7', 1n, 500n), posting('account-7', 2n, 300n), posting('account-8', 1n, 900719925474099300n)],
      resultsPublished: 10,
      figures: { operations: 5, postings: 3, inboxRows: expected.inboxRows, audits: 0, parked: 0, deferred: 0, gaps: 0 },
      partitions: [{ partition: 0, nextOffset: 10n, publishedOffset: 10n, tally }],
      logEnd: 10n,
    }
    return { expected, found }
  }

  it("passes a ledger that ends at the bank's balances", async () => {
    const { expected, found } = await scene()
    expect(judge(expected, found).checks.filter(({ ok }) => !ok)).toEqual([])
  })

  it.each<[string, (found: FoundState) => FoundState, string]>([
    [
      'an account off by one',
      (f) => ({ ...f, balances: f.balances.map((b, i) => (i === 0 ? { ...b, balanceMinor: 301n } : b)) }),
      "accounts whose balance is not the bank's",
    ],
    ['a missing account', (f) => ({ ...f, balances: f.balances.slice(1) }), "accounts whose balance is not the bank's"],
    [
      'a posting with another balance',
      (f) => ({ ...f, postings: f.postings.map((p, i) => (i === 0 ? { ...p, balanceAfterMinor: 501n } : p)) }),
      "postings whose balance is not the bank's",
    ],
    [
      'a command that still waits',
      (f) => ({ ...f, figures: { ...f.figures, deferred: 1 } }),
      'commands that still wait, and accounts with a gap',
    ],
    ['a result too few', (f) => ({ ...f, resultsPublished: 9 }), 'results published, one for each message'],
    ['an operation twice', (f) => ({ ...f, figures: { ...f.figures, operations: 6 } }), 'operations, each once'],
    ['a message not applied', (f) => ({ ...f, logEnd: 11n }), 'messages not applied'],
    ['a parked message', (f) => ({ ...f, figures: { ...f.figures, parked: 1 } }), 'audit and parking rows'],
  ])('fails on %s', async (_what, spoil, name) => {
    const { expected, found } = await scene()
    expect(judge(expected, spoil(found)).checks.flatMap((check) => (check.ok ? [] : [check.name]))).toContain(name)
  })

  it('repeats every operation, a part of them as new messages', () => {
    const first = commandsOf([{ transactionId: '1', accountId: '7', amountMinor: 5n, balanceAfterMinor: 5n, accountVersion: 1 }], 0, random)
    const many = Array.from({ length: 500 }, () => first).flat()
    const again = repeatOf(many, 1, random)
    expect(again.map(({ operationId }) => operationId)).toEqual(many.map(({ operationId }) => operationId))
    const renewed = again.filter(({ eventId }, i) => eventId !== many[i]?.eventId).length
    expect(renewed).toBeGreaterThan(50)
    expect(renewed).toBeLessThan(200)
  })
})

describe('the order of the file', () => {
  it('is shuffled inside of windows, every row kept, the same for the same seed', () => {
    const rows = Array.from({ length: 25 }, (_, i) => i)
    const shuffled = shuffleWindows(rows, 10, seededRandom(3))
    expect(shuffled).toEqual(shuffleWindows(rows, 10, seededRandom(3)))
    expect(shuffled).not.toEqual(rows)
    for (const start of [0, 10, 20])
      expect(shuffled.slice(start, start + 10).toSorted((l, r) => l - r)).toEqual(rows.slice(start, start + 10))
    expect(shuffleWindows(rows, 0, seededRandom(3))).toEqual(rows)
  })

  it("[ORD-1] [ORD-4] matters: with the accounts' true limits the ordered contract refuses nothing, the commutative one payments that the bank made", async () => {
    const transactions = await readBankFile(BANK_FILE, Number.POSITIVE_INFINITY)
    const ordered = commandsOf(transactions, 1_700_000_000_000, seededRandom(1))
    const openings = overdraftLimits(transactions).size
    const commutative = ordered.map((command, i) => {
      const amountMinor = transactions[i - openings]?.amountMinor ?? 0n
      if (command.type !== 'entry.v1') return command
      const { aggregateVersion: _version, ...rest } = command
      const amount = (amountMinor < 0n ? -amountMinor : amountMinor).toString()
      return { ...rest, type: amountMinor < 0n ? 'withdraw.v1' : 'deposit.v1', data: { ...command.data, amount } }
    })
    expect(refusals(ordered)).toEqual([])
    const refused = refusals(commutative)
    expect(refused.length).toBeGreaterThan(10)
    expect(new Set(refused)).toEqual(new Set(['INSUFFICIENT_FUNDS']))
  })
})

/** Why the ledger refuses or keeps back any of these commands, judged as one batch. */
function refusals(sent: readonly CommandToSend[]): (string | null)[] {
  const commands = sent.map((each, i) => {
    const { key, value, headers } = encodeCommand(each)
    const position = { topic: 't', partition: 0, offset: BigInt(i) }
    const record = {
      position,
      key: Buffer.from(key),
      value: Buffer.from(value),
      headers: Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)] as const),
      timestampMs: 0n,
    }
    const decoded = decodeRecord(record, { registry: REGISTRY, bucketOf: () => 0 })
    if (decoded.kind === 'refused') throw new Error(decoded.parked.detail)
    return decoded.command
  })
  const { judgements } = adjudicate(EMPTY_STATE, commands, { nowUs: 1_700_000_000_000_000n, registry: REGISTRY })
  return judgements.flatMap(({ verdict, reason }) => (verdict === 'APPLIED' ? [] : [reason]))
}

const REGISTRY = createContractRegistry(MONEY_CONTRACTS)
const BANK_FILE = 'test/data/berka/transactions.ndjson.gz'

describe('the arguments', () => {
  it.each([['--accounts', 'x'], ['--accounts', '0'], ['--shuffle', '-1'], ['--seed', 'x'], ['--what']])('refuse %s %s', (...given) => {
    expect(() => readArguments(given)).toThrow(UsageError)
  })
})
