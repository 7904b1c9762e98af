import type { Session, ShardDatabase } from '../session.ts'

/** How many rows of each kind a shard holds. */
export interface LedgerFigures {
  readonly operations: number
  readonly postings: number
  readonly inboxRows: number
  readonly audits: number
  readonly parked: number
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
    (SELECT COUNT(*) FROM parked WHERE state = 'PARKED')`)
  const [operations = 0, postings = 0, inboxRows = 0, audits = 0, parked = 0] = (rows[0] ?? []).map(Number)
  return { operations, postings, inboxRows, audits, parked }
}

export interface AccountBalance {
  readonly businessKey: string
  readonly currency: string
  readonly balanceMinor: bigint
  readonly version: bigint
}

/** Every account of a shard, external ones too, in the order of their keys. Reads the whole table. */
export async function loadBalances(database: ShardDatabase): Promise<AccountBalance[]> {
  const [rows = []] = await database.withSession((session) => session.run('SELECT business_key, currency, balance, version FROM account'))
  return rows.map(([businessKey, currency, balance, version]) => ({
    businessKey: (businessKey as Buffer).toString('utf8'),
    currency: (currency as Buffer).toString('latin1'),
    balanceMinor: BigInt(balance as string),
    version: BigInt(version as string),
  }))
}
