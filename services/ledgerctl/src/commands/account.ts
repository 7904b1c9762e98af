import { parseBusinessKey, parseTenantId } from '@onceledger/core'
import {
  type AccountPoint,
  type AccountView,
  findAccounts,
  findSequence,
  type PostingView,
  type SequenceView,
} from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs, toTable } from '../output.ts'
import type { KeyOptions } from './key-options.ts'

export interface AccountOptions extends KeyOptions {
  readonly postings: number
  /** As the accounts stood then. */
  readonly at?: AccountPoint
}

type ShownPosting = PostingView & { readonly type: string }

/** Every account of a business key: as it stands, as it stood, and its postings up to there. */
export async function showAccount(ledger: Ledger, output: Output, options: AccountOptions): Promise<void> {
  const { database, name } = await ledger.locate(parseTenantId(options.tenant), parseBusinessKey(options.key))
  const names = await ledger.names()
  const { at } = options
  const history = { postingsMax: Math.max(1, options.postings), ...(at === undefined ? {} : { upTo: at }) }
  const accounts = await findAccounts(database, name, history)
  const sequence = await findSequence(database, name)
  if (accounts.length === 0)
    throw new CommandFailed(EXIT.finding, `${options.tenant}/${options.key} has no account${waitingNote(sequence)}`)
  const typeOf = (no: number | null): string => (no === null ? 'event' : (names.operationTypeName(no) ?? String(no)))
  const views = accounts.map((account) => {
    const postings = account.postings.map((posting) => ({ ...posting, type: typeOf(posting.operationTypeNo) }))
    return { ...account, ...(at === undefined ? {} : { at: asOf(postings[0]) }), sequence, postings: postings.slice(0, options.postings) }
  })
  output.result(views, () =>
    views.flatMap((account) => [
      `${options.tenant}/${options.key} ${account.currency}: balance ${account.balanceMinor}, version ${account.version}, overdraft limit ${account.overdraftLimitMinor}${limitNote(account)}, bucket ${account.bucket}`,
      ...('at' in account ? [asOfLine(account.at)] : []),
      ...(sequence === null ? [] : [`ordered commands: ${sequence.headVersion} taken, ${sequence.waiting} waiting`]),
      ...(account.postings.length === 0 ? [] : postingTable(account.postings)),
    ]),
  )
}

interface AsOf {
  readonly version: bigint
  readonly balanceMinor: bigint
  /** The posting that made the balance; before the first an account stood at zero. */
  readonly posting: ShownPosting | null
}

function asOf(posting: ShownPosting | undefined): AsOf {
  return posting === undefined
    ? { version: 0n, balanceMinor: 0n, posting: null }
    : { version: posting.accountVersion, balanceMinor: posting.balanceAfterMinor, posting }
}

function asOfLine({ version, balanceMinor, posting }: AsOf): string {
  const maker = posting === null ? '' : `, made by ${posting.type} ${idOf(posting)} at ${timeOfUs(posting.committedAtUs)}`
  return `as it stood then: balance ${balanceMinor}, version ${version}${maker}`
}

function waitingNote(sequence: SequenceView | null): string {
  return sequence === null || sequence.waiting === 0 ? '' : `; ${sequence.waiting} ordered commands wait, see: ledgerctl gaps list`
}

function limitNote({ limitVersion }: AccountView): string {
  return limitVersion === 0n ? '' : ` of snapshot ${limitVersion}`
}

function idOf({ operationId, eventId }: PostingView): string {
  return operationId ?? eventId ?? ''
}

function postingTable(postings: readonly ShownPosting[]): string[] {
  return toTable([
    ['version', 'amount', 'balance after', 'at', 'by', 'id'],
    ...postings.map((posting) => [
      posting.accountVersion.toString(),
      posting.amountMinor.toString(),
      posting.balanceAfterMinor.toString(),
      timeOfUs(posting.committedAtUs),
      posting.type,
      idOf(posting),
    ]),
  ])
}
