import type { Session, ShardDatabase } from '../session.ts'

/** How many rows of each kind a shard holds. */
export interface LedgerFigures {
  readonly operations: number
  readonly postings: number
  readonly inboxRows: number
  readonly audits: number
  readonly parked: number
  /** Commands that wait for a predecessor, and the business keys that they belong to. */
  readonly deferred: number
  readonly gaps: number
}

/** Counts whole tables: for demonstrations and reconciliation, not for every minute. */
export async function loadFigures(database: ShardDatabase): Promise<LedgerFigures> {
  return database.withSession(readFigures)
}

/** The same inside the caller's transaction. */
export async function readFigures(session: Session): Promise<LedgerFigures> {
  const [rows = []] = await session.run(`SELECT
    (SELECT COUNT(*) FROM operation),
    (SELECT COUNT(*) FROM operation WHERE verdict = 1 AND amount <> 0) + (SELECT COUNT(*) FROM posting),
    (SELECT COUNT(*) FROM inbox),
    (SELECT COUNT(*) FROM conflict_audit),
    (SELECT COUNT(*) FROM parked WHERE state = 'PARKED'),
    (SELECT COUNT(*) FROM deferred),
    (SELECT COUNT(DISTINCT aggregate_id) FROM deferred)`)
  const [operations = 0, postings = 0, inboxRows = 0, audits = 0, parked = 0, deferred = 0, gaps = 0] = (rows[0] ?? []).map(Number)
  return { operations, postings, inboxRows, audits, parked, deferred, gaps }
}

export interface AccountBalance {
  readonly businessKey: string
  readonly currency: string
  readonly balanceMinor: bigint
  readonly version: bigint
}

/** Every account of a shard, external ones too, in no order. Reads the whole table. */
export async function loadBalances(database: ShardDatabase): Promise<AccountBalance[]> {
  const [rows = []] = await database.withSession((session) => session.run('SELECT business_key, currency, balance, version FROM account'))
  return rows.map(([businessKey, currency, balance, version]) => ({
    businessKey: (businessKey as Buffer).toString('utf8'),
    currency: (currency as Buffer).toString('latin1'),
    balanceMinor: BigInt(balance as string),
    version: BigInt(version as string),
  }))
}

export interface AccountPosting {
  readonly businessKey: string
  readonly currency: string
  readonly accountVersion: bigint
  readonly balanceAfterMinor: bigint
}

/** Every posting of a shard with the balance that it left, in no order. Reads whole tables into memory: for demonstrations. */
export async function loadPostings(database: ShardDatabase): Promise<AccountPosting[]> {
  const [rows = []] = await database.withSession((session) =>
    session.run(`SELECT a.business_key, a.currency, p.account_version, p.balance_after
      FROM (
        SELECT aggregate_id, currency, account_version, balance_after
        FROM operation
        WHERE verdict = 1 AND amount <> 0
        UNION ALL
        SELECT aggregate_id, currency, account_version, balance_after
        FROM posting
      ) AS p
      JOIN account AS a ON a.aggregate_id = p.aggregate_id AND a.currency = p.currency`),
  )
  return rows.map(([businessKey, currency, accountVersion, balanceAfter]) => ({
    businessKey: (businessKey as Buffer).toString('utf8'),
    currency: (currency as Buffer).toString('latin1'),
    accountVersion: BigInt(accountVersion as string),
    balanceAfterMinor: BigInt(balanceAfter as string),
  }))
}
