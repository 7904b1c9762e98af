import type { CommandToSend } from '@onceledger/core'
import type { BankTransaction } from './bank-file.ts'
import { businessKeyOf } from './commands.ts'

/** What must stand at the end, worked out from the bank's file and the list of messages alone. Nothing of the ledger's code takes part. */
export interface ExpectedState {
  /** The bank's own last balance, by business key. */
  readonly balances: ReadonlyMap<string, bigint>
  readonly messages: number
  readonly operations: number
  readonly postings: number
  /** Different event ids. */
  readonly inboxRows: number
}

export function expectedState(transactions: readonly BankTransaction[], messages: readonly CommandToSend[]): ExpectedState {
  const last = new Map<string, BankTransaction>()
  for (const transaction of transactions) {
    const known = last.get(transaction.accountId)
    if (known === undefined || known.accountVersion < transaction.accountVersion) last.set(transaction.accountId, transaction)
  }
  return {
    balances: new Map([...last.values()].map(({ accountId, balanceAfterMinor }) => [businessKeyOf(accountId), balanceAfterMinor])),
    messages: messages.length,
    operations: transactions.length + last.size,
    postings: transactions.length,
    inboxRows: new Set(messages.map(({ eventId }) => eventId)).size,
  }
}
