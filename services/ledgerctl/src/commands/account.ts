import { parseBusinessKey, parseTenantId } from '@onceledger/core'
import { type AccountPoint, type AccountView, findAccounts, findSequence } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs, toTable } from '../output.ts'
import type { KeyOptions } from './key-options.ts'

export interface AccountOptions extends KeyOptions {
  readonly postings: number
  /** As the accounts stood then. */
  readonly at?: AccountPoint
}

/** Every account of a business key: as it stands, as it stood, and its postings up to there. */
export async function showAccount(ledger: Ledger, output: Output, options: AccountOptions): Promise<void> {
  const { database, name } = await ledger.locate(parseTenantId(options.tenant), parseBusinessKey(options.key))
  const names = await ledger.names()
  const history = { postingsMax: Math.max(1, options.postings), ...(options.at === undefined ? {} : { upTo: options.at }) }
  const accounts = await findAccounts(database, name, history)
  if (accounts.length === 0) throw new CommandFailed(EXIT.finding, `${options.tenant}/${options.key} has no account`)
  const sequence = await findSequence(database, name)
  const typeOf = (no: number | null): string => (no === null ? 'event' : (names.operationTypeName(no) ?? String(no)))
  const views = accounts.map((account) => ({
    ...account,
    ...(options.at === undefined ? {} : { at: asOf(account) }),
    sequence,
    postings: account.postings.slice(0, options.postings).map((posting) => ({ ...posting, type: typeOf(posting.operationTypeNo) })),
  }))
  output.result(views, () =>
    views.flatMap((account) => [
      `${options.tenant}/${options.key} ${account.currency}: balance ${account.balanceMinor}, version ${account.version}, overdraft limit ${account.overdraftLimitMinor}, bucket ${account.bucket}`,
      ...(account.at === undefined ? [] : [`as it stood then: balance ${account.at.balanceMinor}, version ${account.at.version}`]),
      ...(sequence === null ? [] : [`ordered commands: ${sequence.headVersion} taken, ${sequence.waiting} waiting`]),
      ...(account.postings.length === 0 ? [] : postingTable(account.postings)),
    ]),
  )
}

/** Before its first posting an account stood at zero. */
function asOf({ postings: [last] }: AccountView): { readonly version: bigint; readonly balanceMinor: bigint } {
  return { version: last?.accountVersion ?? 0n, balanceMinor: last?.balanceAfterMinor ?? 0n }
}

function postingTable(postings: readonly (AccountView['postings'][number] & { readonly type: string })[]): string[] {
  return toTable([
    ['version', 'amount', 'balance after', 'at', 'by', 'id'],
    ...postings.map((posting) => [
      posting.accountVersion.toString(),
      posting.amountMinor.toString(),
      posting.balanceAfterMinor.toString(),
      timeOfUs(posting.committedAtUs),
      posting.type,
      posting.operationId ?? posting.eventId ?? '',
    ]),
  ])
}
