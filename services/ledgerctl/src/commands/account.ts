import { parseBusinessKey, parseTenantId } from '@onceledger/core'
import { findAccounts } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs, toTable } from '../output.ts'
import type { KeyOptions } from './key-options.ts'

/** Every account of a business key, with its latest postings. */
export async function showAccount(ledger: Ledger, output: Output, options: KeyOptions & { readonly postings: number }): Promise<void> {
  const { database, name } = await ledger.locate(parseTenantId(options.tenant), parseBusinessKey(options.key))
  const names = await ledger.names()
  const accounts = await findAccounts(database, name, options.postings)
  if (accounts.length === 0) throw new CommandFailed(EXIT.finding, `${options.tenant}/${options.key} has no account`)
  const typeOf = (no: number | null): string => (no === null ? 'event' : (names.operationTypeName(no) ?? String(no)))
  const views = accounts.map((account) => ({
    ...account,
    postings: account.postings.map((posting) => ({ ...posting, type: typeOf(posting.operationTypeNo) })),
  }))
  output.result(views, () =>
    views.flatMap((account) => [
      `${options.tenant}/${options.key} ${account.currency}: balance ${account.balanceMinor}, version ${account.version}, overdraft limit ${account.overdraftLimitMinor}, bucket ${account.bucket}`,
      ...toTable([
        ['version', 'amount', 'balance after', 'at', 'by', 'id'],
        ...account.postings.map((posting) => [
          posting.accountVersion.toString(),
          posting.amountMinor.toString(),
          posting.balanceAfterMinor.toString(),
          timeOfUs(posting.committedAtUs),
          posting.type,
          posting.operationId ?? posting.eventId ?? '',
        ]),
      ]),
    ]),
  )
}
