import type { CommandToSend } from '@onceledger/core'

/** What the books must hold, as the commands alone imply it. */
export interface ImpliedBooks {
  /** By business key; the external accounts are not in it. */
  readonly accounts: ReadonlyMap<string, { readonly balanceMinor: bigint; readonly version: bigint }>
  readonly applied: number
  readonly rejected: number
  readonly duplicates: number
  readonly conflicts: number
  readonly inboxRows: number
  readonly audits: number
}

interface Decided {
  readonly amount: string
}

/**
 * Judges deposits and withdrawals one after the other, with Maps and nothing of the product: an operation once, at its first amount; a withdrawal beyond
 * the balance refused for good; another amount under the same identity a conflict (IDN-6). The order of the commands of one account decides, so
 * it also notices messages of an account that changed places.
 */
export function booksOf(commands: readonly CommandToSend[]): ImpliedBooks {
  const accounts = new Map<string, { balanceMinor: bigint; version: bigint }>()
  const decided = new Map<string, Decided>()
  const audits = new Set<string>()
  let applied = 0
  let rejected = 0
  let duplicates = 0
  let conflicts = 0
  for (const { businessKey, type, operationId, eventId, data } of commands) {
    const identity = JSON.stringify([businessKey, type, operationId])
    const amount = data['amount'] ?? ''
    const earlier = decided.get(identity)
    if (earlier !== undefined) {
      if (earlier.amount === amount) duplicates++
      else {
        conflicts++
        audits.add(JSON.stringify([identity, eventId, amount]))
      }
      continue
    }
    decided.set(identity, { amount })
    const account = accounts.get(businessKey) ?? { balanceMinor: 0n, version: 0n }
    const balanceMinor = account.balanceMinor + (type === 'withdraw.v1' ? -1n : 1n) * BigInt(amount)
    if (balanceMinor < 0n) {
      rejected++
      continue
    }
    applied++
    accounts.set(businessKey, { balanceMinor, version: account.version + 1n })
  }
  const inboxRows = new Set(commands.map(({ businessKey, eventId }) => JSON.stringify([businessKey, eventId]))).size
  return { accounts, applied, rejected, duplicates, conflicts, inboxRows, audits: audits.size }
}
