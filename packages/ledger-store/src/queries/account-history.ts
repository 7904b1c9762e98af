import { idFromBytes } from '@onceledger/core'
import type { Row, Session, ShardDatabase } from '../session.ts'
import { hexLiteral } from '../sql/literal.ts'
import { type AggregateName, aggregateOf } from './show.ts'

export interface AccountView {
  readonly currency: string
  readonly balanceMinor: bigint
  readonly version: bigint
  readonly overdraftLimitMinor: bigint
  /** Version of the snapshot that set the limit, 0 before any did. */
  readonly limitVersion: bigint
  readonly bucket: number
  readonly postings: readonly PostingView[]
}

export interface PostingView {
  readonly accountVersion: bigint
  readonly amountMinor: bigint
  readonly balanceAfterMinor: bigint
  readonly committedAtUs: bigint
  /** The operation that posted, or the event where the contract is judged by event. */
  readonly operationTypeNo: number | null
  readonly operationId: string | null
  readonly eventId: string | null
}

/** A point in an account's history: after one of its versions, or at a time in microseconds since 1970. */
export type AccountPoint = { readonly version: bigint } | { readonly timeUs: bigint }

export interface HistoryOptions {
  readonly postingsMax: number
  /** Only what had been posted by then. */
  readonly upTo?: AccountPoint
}

/** Every account of one business key as it stands, with its postings up to a point, newest first. */
export async function findAccounts(database: ShardDatabase, name: AggregateName, options: HistoryOptions): Promise<AccountView[]> {
  const aggregate = hexLiteral(aggregateOf(name))
  return database.withSession(async (session) => {
    const [rows = []] = await session.run(`SELECT currency, balance, version, overdraft_limit, bucket, limit_version
      FROM account
      WHERE aggregate_id = ${aggregate} AND tenant_no = ${name.tenantNo}
      ORDER BY currency`)
    const accounts: AccountView[] = []
    for (const [currencyBytes, balance, versionText, overdraftLimit, bucket, limitVersion] of rows) {
      const currency = (currencyBytes as Buffer).toString('latin1')
      const account = { aggregate, currency: hexLiteral(Buffer.from(currency).toString('hex')) }
      const version = BigInt(versionText as string)
      const upTo = await versionAt(session, account, version, options.upTo)
      const [postings = []] = await session.run(latestPostings(account, upTo, options.postingsMax))
      accounts.push({
        currency,
        balanceMinor: BigInt(balance as string),
        version,
        overdraftLimitMinor: BigInt(overdraftLimit as string),
        limitVersion: BigInt(limitVersion as string),
        bucket: Number(bucket),
        postings: postings.map(toPosting),
      })
    }
    return accounts
  })
}

/** Literals of the account's key. */
interface AccountKey {
  readonly aggregate: string
  readonly currency: string
}

/**
 * The account's version at a point. Versions and times of postings rise together, so a time is found by halving: some twenty lookups in the
 * history's index for a million postings. Where clocks of processes that judged one after the other differ, it is exact but for that difference.
 */
async function versionAt(session: Session, account: AccountKey, version: bigint, point: AccountPoint | undefined): Promise<bigint> {
  if (point === undefined) return version
  if ('version' in point) return point.version
  let before = 0n
  let after = version + 1n
  while (after - before > 1n) {
    const middle = (before + after) / 2n
    const [rows = []] = await session.run(latestPostings(account, middle, 1))
    const [row] = rows
    if (row === undefined || toPosting(row).committedAtUs <= point.timeUs) before = middle
    else after = toPosting(row).accountVersion
  }
  return before
}

/** Each half reads its own index from the end, so the length of the history does not matter. */
function latestPostings({ aggregate, currency }: AccountKey, upTo: bigint, postingsMax: number): string {
  return `SELECT account_version, amount, balance_after, committed_at, operation_type_no, operation_id, event_id
    FROM (
      (SELECT account_version, amount, balance_after, committed_at, operation_type_no, operation_id, NULL AS event_id
        FROM operation FORCE INDEX (history)
        WHERE aggregate_id = ${aggregate} AND currency = ${currency} AND account_version <= ${upTo} AND verdict = 1 AND amount <> 0
        ORDER BY account_version DESC
        LIMIT ${postingsMax})
      UNION ALL
      (SELECT account_version, amount, balance_after, committed_at, NULL, NULL, event_id
        FROM posting
        WHERE aggregate_id = ${aggregate} AND currency = ${currency} AND account_version <= ${upTo}
        ORDER BY account_version DESC
        LIMIT ${postingsMax})
    ) AS latest
    ORDER BY account_version DESC
    LIMIT ${postingsMax}`
}

function toPosting(row: Row): PostingView {
  return {
    accountVersion: BigInt(row[0] as string),
    amountMinor: BigInt(row[1] as string),
    balanceAfterMinor: BigInt(row[2] as string),
    committedAtUs: BigInt(row[3] as string),
    operationTypeNo: row[4] === null ? null : Number(row[4]),
    operationId: row[5] === null ? null : idFromBytes(row[5] as Buffer),
    eventId: row[6] === null ? null : idFromBytes(row[6] as Buffer),
  }
}

/** How far a business key's ordered commands came, and how many wait. */
export interface SequenceView {
  readonly headVersion: bigint
  readonly waiting: number
}

/** Null where no ordered command of the key was ever judged. */
export async function findSequence(database: ShardDatabase, name: AggregateName): Promise<SequenceView | null> {
  const aggregate = hexLiteral(aggregateOf(name))
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT version, (SELECT COUNT(*) FROM deferred WHERE aggregate_id = ${aggregate})
      FROM sequence_head
      WHERE aggregate_id = ${aggregate}`),
  )
  const [row] = rows
  return row === undefined ? null : { headVersion: BigInt(row[0] as string), waiting: Number(row[1]) }
}
