import type { CommandToSend } from '@onceledger/core'
import type { BankTransaction } from './bank-file.ts'
import { businessKeyOf } from './commands.ts'

/** What must stand at the end, worked out from the bank's file and the list of messages alone. Nothing of the ledger's code takes part. */
export interface ExpectedState {
  /** The bank's own last balance, by business key. */
  readonly balances: ReadonlyMap<string, bigint>
  /** The bank's own balance after every single transaction, by business key and version. */
  readonly postings: ReadonlyMap<string, bigint>
  readonly messages: number
  readonly operations: number
  /** Different event ids. */
  readonly inboxRows: number
  /** Transactions that do not directly follow their account's last one in the order of sending. */
  readonly outOfOrder: number
}

export function postingKey(businessKey: string, version: bigint | number): string {
  return `${businessKey} version ${version}`
}

export function expectedState(transactions: readonly BankTransaction[], messages: readonly CommandToSend[]): ExpectedState {
  const last = new Map<string, BankTransaction>()
  const sentLast = new Map<string, number>()
  let outOfOrder = 0
  for (const transaction of transactions) {
    const { accountId, accountVersion } = transaction
    const known = last.get(accountId)
    if (known === undefined || known.accountVersion < accountVersion) last.set(accountId, transaction)
    if (accountVersion !== (sentLast.get(accountId) ?? 0) + 1) outOfOrder++
    sentLast.set(accountId, accountVersion)
  }
  return {
    balances: new Map([...last.values()].map(({ accountId, balanceAfterMinor }) => [businessKeyOf(accountId), balanceAfterMinor])),
    postings: new Map(
      transactions.map(({ accountId, accountVersion, balanceAfterMinor }) => [
        postingKey(businessKeyOf(accountId), accountVersion),
        balanceAfterMinor,
      ]),
    ),
    messages: messages.length,
    operations: transactions.length + last.size,
    inboxRows: new Set(messages.map(({ eventId }) => eventId)).size,
    outOfOrder,
  }
}
