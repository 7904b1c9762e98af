import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { z } from 'zod'

/** One booking as the bank recorded it. */
export interface BankTransaction {
  readonly transactionId: string
  readonly accountId: string
  /** Signed; never zero. */
  readonly amountMinor: bigint
  /** What the bank itself had on the account after it. */
  readonly balanceAfterMinor: bigint
  /** Place in the account's history, from 1. */
  readonly accountVersion: number
}

export class BankFileError extends Error {
  override readonly name = 'BankFileError'
}

const id = z.union([z.int().nonnegative().transform(String), z.string().min(1)])
const minorUnits = z
  .string()
  .regex(/^-?(0|[1-9]\d{0,17})$/, { error: 'must be a string of decimal digits' })
  .transform(BigInt)
const LINE = z.object({
  trans_id: id,
  account_id: id,
  amount_minor: minorUnits.refine((amount) => amount !== 0n, { error: 'must not be zero: nothing would be posted' }),
  balance_after_minor: minorUnits,
  account_version: z.int().positive(),
})

/**
 * Reads the file in its own order, which is not that of the accounts.
 * @throws BankFileError naming the line that cannot be read.
 */
export async function readBankFile(path: string, accountsMax: number): Promise<BankTransaction[]> {
  const raw = createReadStream(path)
  const input = path.endsWith('.gz') ? raw.pipe(createGunzip()) : raw
  const failed = Promise.withResolvers<never>()
  for (const stream of new Set<NodeJS.ReadableStream>([raw, input]))
    stream.on('error', (error: Error) => failed.reject(new BankFileError(`${path}: ${error.message}`)))
  return Promise.race([readLines(input, path, accountsMax), failed.promise])
}

async function readLines(input: NodeJS.ReadableStream, path: string, accountsMax: number): Promise<BankTransaction[]> {
  const transactions: BankTransaction[] = []
  const accounts = new Set<string>()
  let lineNo = 0
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    lineNo++
    if (line.trim() === '') continue
    const transaction = parseLine(line, `${path}:${lineNo}`)
    if (!accounts.has(transaction.accountId) && accounts.size >= accountsMax) continue
    accounts.add(transaction.accountId)
    transactions.push(transaction)
  }
  if (transactions.length === 0) throw new BankFileError(`${path} holds no transactions`)
  return transactions
}

function parseLine(line: string, where: string): BankTransaction {
  let candidate: unknown
  try {
    candidate = JSON.parse(line)
  } catch (error) {
    throw new BankFileError(`${where}: not JSON`, { cause: error })
  }
  const parsed = LINE.safeParse(candidate)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new BankFileError(`${where}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`)
  }
  const { trans_id, account_id, amount_minor, balance_after_minor, account_version } = parsed.data
  return {
    transactionId: trans_id,
    accountId: account_id,
    amountMinor: amount_minor,
    balanceAfterMinor: balance_after_minor,
    accountVersion: account_version,
  }
}
