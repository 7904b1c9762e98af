import type { CommandToSend } from '@onceledger/core'
import { type Random, uuidv7 } from '@onceledger/testkit'
import type { BankTransaction } from './bank-file.ts'

const TENANT = 'berka'
const CURRENCY = 'CZK'
const SOURCE = '/onceledger/demo'
/** Wide, since these contracts are commutative: judged out of the account's order, a true limit would refuse what the bank paid. */
const OVERDRAFT_LIMIT = '1000000000000000'
/** The second time, every tenth command comes as a new message: a user who tries again. The others are the same messages again. */
const NEW_MESSAGE_SHARE = 0.1

export function businessKeyOf(accountId: string): string {
  return `account-${accountId}`
}

/** Opens every account, then books every transaction, each under an identity of its own. */
export function commandsOf(transactions: readonly BankTransaction[], startMs: number, random: Random): CommandToSend[] {
  const accounts = new Set(transactions.map(({ accountId }) => accountId))
  const command = (type: string, accountId: string, operationId: string, data: Readonly<Record<string, string>>): CommandToSend => ({
    type,
    tenantId: TENANT,
    businessKey: businessKeyOf(accountId),
    eventId: uuidv7(startMs, random),
    operationId,
    source: SOURCE,
    data: { currency: CURRENCY, ...data },
  })
  const openings = [...accounts].map((accountId) => command('open.v1', accountId, 'open', { overdraftLimit: OVERDRAFT_LIMIT }))
  const bookings = transactions.map(({ transactionId, accountId, amountMinor }) => {
    const type = amountMinor > 0n ? 'deposit.v1' : 'withdraw.v1'
    const amount = amountMinor > 0n ? amountMinor : -amountMinor
    return command(type, accountId, `berka-${transactionId}`, { amount: amount.toString() })
  })
  return [...openings, ...bookings]
}

/** The same intents again: redelivered as they were, or as new messages by users who got no answer. */
export function repeatOf(commands: readonly CommandToSend[], startMs: number, random: Random): CommandToSend[] {
  return commands.map((command) => (random() < NEW_MESSAGE_SHARE ? { ...command, eventId: uuidv7(startMs, random) } : command))
}
