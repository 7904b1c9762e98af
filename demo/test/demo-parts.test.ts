import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '@onceledger/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { readArguments, UsageError } from '../src/arguments.ts'
import { BankFileError, readBankFile } from '../src/bank-file.ts'
import { commandsOf, repeatOf } from '../src/commands.ts'
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
    const tally = { applied: 5n, duplicate: 5n, conflict: 0n, rejected: 0n, parked: 0n }
    const balance = (businessKey: string, balanceMinor: bigint) => ({ businessKey, currency: 'CZK', balanceMinor, version: 1n })
    const found = {
      balances: [balance('account-7', 300n), balance('account-8', 900719925474099300n), balance('@external/1', -900719925474099600n)],
      figures: { operations: 5, postings: 3, inboxRows: expected.inboxRows, audits: 0, parked: 0 },
      partitions: [{ partition: 0, nextOffset: 10n, tally }],
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

describe('the arguments', () => {
  it.each([['--accounts', 'x'], ['--accounts', '0'], ['--what']])('refuse %s %s', (...given) => {
    expect(() => readArguments(given)).toThrow(UsageError)
  })
})
