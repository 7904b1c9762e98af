import type { CommandToSend } from '@onceledger/core'
import { type Random, uuidv7 } from '@onceledger/testkit'
import type { BankTransaction } from './bank-file.ts'

const TENANT = 'berka'
const CURRENCY = 'CZK'
const SOURCE = '/onceledger/demo'
/** The second time, every tenth command comes as a new message: a user who tries again. The others are the same messages again. */
const NEW_MESSAGE_SHARE = 0.1

export function businessKeyOf(accountId: string): string {
  return `account-${accountId}`
}

/** How far each account ever went below zero at the bank: its true overdraft limit. */
export function overdraftLimits(transactions: readonly BankTransaction[]): Map<string, bigint> {
  const limits = new Map<string, bigint>()
  for (const { accountId, balanceAfterMinor } of transactions) {
    const known = limits.get(accountId) ?? 0n
    limits.set(accountId, -balanceAfterMinor > known ? -balanceAfterMinor : known)
  }
  return limits
}

/** Opens every account with its true limit, then books every transaction as the version of its account that the bank says it is. */
export function commandsOf(transactions: readonly BankTransaction[], startMs: number, random: Random): CommandToSend[] {
  const command = (
    type: string,
    accountId: string,
    operationId: string,
    data: Readonly<Record<string, string>>,
    version?: number,
  ): CommandToSend => ({
    type,
    tenantId: TENANT,
    businessKey: businessKeyOf(accountId),
    eventId: uuidv7(startMs, random),
    operationId,
    ...(version === undefined ? {} : { aggregateVersion: BigInt(version) }),
    source: SOURCE,
    data: { currency: CURRENCY, ...data },
  })
  const openings = [...overdraftLimits(transactions)].map(([accountId, limit]) =>
    command('open.v1', accountId, 'open', { overdraftLimit: limit.toString() }),
  )
  const bookings = transactions.map(({ transactionId, accountId, amountMinor, accountVersion }) =>
    command('entry.v1', accountId, `berka-${transactionId}`, { amount: amountMinor.toString() }, accountVersion),
  )
  return [...openings, ...bookings]
}

/** The same intents again: redelivered as they were, or as new messages by users who got no answer. */
export function repeatOf(commands: readonly CommandToSend[], startMs: number, random: Random): CommandToSend[] {
  return commands.map((command) => (random() < NEW_MESSAGE_SHARE ? { ...command, eventId: uuidv7(startMs, random) } : command))
}

/** Shuffles within windows of so many rows (Fisher and Yates). 0 or 1 leaves the file as it is. */
export function shuffleWindows<T>(rows: readonly T[], windowRows: number, random: Random): T[] {
  const shuffled = [...rows]
  if (windowRows < 2) return shuffled
  for (let start = 0; start < shuffled.length; start += windowRows) {
    for (let i = Math.min(start + windowRows, shuffled.length) - 1; i > start; i--) {
      const j = start + Math.floor(random() * (i - start + 1))
      const moved = shuffled[i] as T
      shuffled[i] = shuffled[j] as T
      shuffled[j] = moved
    }
  }
  return shuffled
}
