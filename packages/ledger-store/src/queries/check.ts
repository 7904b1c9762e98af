import type { Row, Session, ShardDatabase } from '../session.ts'
import { textLiteral } from '../sql/literal.ts'
import { type LedgerFigures, readFigures } from './figures.ts'

/** One invariant that a shard's rows break. */
export interface LedgerFinding {
  readonly invariant: string
  /** Tenant number, account and figures, for a person. */
  readonly detail: string
}

export interface CheckedFigures extends LedgerFigures {
  /** Without the ledger's own external accounts. */
  readonly accounts: number
  readonly appliedOperations: number
  readonly rejectedOperations: number
}

export interface LedgerFindings {
  /** At most 100 for each invariant; none when the books are right. */
  readonly findings: readonly LedgerFinding[]
  readonly figures: CheckedFigures
}

const FINDINGS_MAX = 100
const EXTERNAL = `a.business_key LIKE ${textLiteral('@external/%')}`

/**
 * Holds a shard's balances against its postings, by its rows alone (ADJ-9): an auditor's reconciliation. Reads whole tables: for demonstrations,
 * nights and incidents, on a database opened with a query time-out that allows it. One snapshot, so it may run while the shard works.
 */
export async function checkLedger(database: ShardDatabase): Promise<LedgerFindings> {
  return database.withSession(async (session) => {
    await session.run(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
      START TRANSACTION WITH CONSISTENT SNAPSHOT`)
    const findings: LedgerFinding[] = []
    for (const { invariant, sql } of INVARIANTS) {
      const [rows = []] = await session.run(`${sql}
        LIMIT ${FINDINGS_MAX}`)
      for (const row of rows) findings.push({ invariant, detail: printRow(row) })
    }
    const figures = await readCheckedFigures(session)
    await session.run('ROLLBACK')
    return { findings, figures }
  })
}

async function readCheckedFigures(session: Session): Promise<CheckedFigures> {
  const figures = await readFigures(session)
  const [rows = []] = await session.run(`SELECT
    (SELECT COUNT(*) FROM account AS a WHERE NOT ${EXTERNAL}),
    (SELECT COUNT(*) FROM operation WHERE verdict = 1),
    (SELECT COUNT(*) FROM operation WHERE verdict = 2)`)
  const [accounts = 0, appliedOperations = 0, rejectedOperations = 0] = (rows[0] ?? []).map(Number)
  return { ...figures, accounts, appliedOperations, rejectedOperations }
}

function printRow(row: Row): string {
  return row.map((cell) => (Buffer.isBuffer(cell) ? cell.toString('utf8') : String(cell))).join(' ')
}

/** Postings of both tables: the applied operation is its own posting, event-judged contracts have theirs apart. */
const POSTINGS = `(
    SELECT aggregate_id, currency, account_version, amount, bucket, tenant_no
    FROM operation
    WHERE verdict = 1 AND amount <> 0
    UNION ALL
    SELECT aggregate_id, currency, account_version, amount, bucket, tenant_no
    FROM posting
  ) AS each_posting`

/** Summed up before they meet the accounts: joined one by one, they would be looked up and sorted one by one. */
const BY_ACCOUNT = `(
    SELECT aggregate_id, currency, SUM(amount) AS total, COUNT(*) AS postings,
      COUNT(DISTINCT account_version) AS versions, MAX(account_version) AS last_version
    FROM ${POSTINGS}
    GROUP BY aggregate_id, currency
  ) AS p`

const BY_BUCKET = `(
    SELECT tenant_no, currency, bucket, SUM(amount) AS total
    FROM ${POSTINGS}
    GROUP BY tenant_no, currency, bucket
  ) AS p`

const INVARIANTS = [
  {
    invariant: 'the balances of a tenant and currency sum to zero',
    sql: `SELECT 'tenant', a.tenant_no, a.currency, 'sums to', SUM(a.balance)
      FROM account AS a
      GROUP BY a.tenant_no, a.currency
      HAVING SUM(a.balance) <> 0`,
  },
  {
    invariant: "an account's balance is the sum of its postings",
    sql: `SELECT 'account', a.business_key, a.currency, 'has', a.balance, 'its postings sum to', COALESCE(p.total, 0)
      FROM account AS a
      LEFT JOIN ${BY_ACCOUNT} ON p.aggregate_id = a.aggregate_id AND p.currency = a.currency
      WHERE NOT ${EXTERNAL} AND a.balance <> COALESCE(p.total, 0)`,
  },
  {
    invariant: "an account's versions count its postings without gaps",
    sql: `SELECT 'account', a.business_key, a.currency, 'is at version', a.version, 'with', COALESCE(p.postings, 0), 'postings'
      FROM account AS a
      LEFT JOIN ${BY_ACCOUNT} ON p.aggregate_id = a.aggregate_id AND p.currency = a.currency
      WHERE NOT ${EXTERNAL}
        AND (a.version <> COALESCE(p.postings, 0) OR a.version <> COALESCE(p.versions, 0) OR a.version <> COALESCE(p.last_version, 0))`,
  },
  {
    invariant: 'every posting has its account',
    sql: `SELECT 'aggregate', HEX(p.aggregate_id), p.currency, 'has', p.postings, 'postings and no account'
      FROM ${BY_ACCOUNT}
      LEFT JOIN account AS a ON a.aggregate_id = p.aggregate_id AND a.currency = p.currency
      WHERE a.aggregate_id IS NULL`,
  },
  {
    invariant: "a bucket's external account is the opposite of the bucket's postings",
    sql: `SELECT 'account', a.business_key, a.currency, 'has', a.balance, 'the postings of its bucket sum to', COALESCE(p.total, 0)
      FROM account AS a
      LEFT JOIN ${BY_BUCKET} ON p.bucket = a.bucket AND p.tenant_no = a.tenant_no AND p.currency = a.currency
      WHERE ${EXTERNAL} AND a.balance <> -COALESCE(p.total, 0)`,
  },
  {
    invariant: 'a sequence stands at the last version that was taken, without gaps before it',
    sql: `SELECT 'sequence', h.business_key, 'stands at', h.version, 'taken are', COUNT(s.version), 'the last', COALESCE(MAX(s.version), 0)
      FROM sequence_head AS h
      LEFT JOIN sequence_step AS s ON s.aggregate_id = h.aggregate_id
      GROUP BY h.aggregate_id
      HAVING MAX(h.version) <> COALESCE(MAX(s.version), 0) OR COALESCE(MAX(s.version) - MIN(s.version) + 1, 0) <> COUNT(s.version)`,
  },
  {
    invariant: 'as many commands wait as each partition counts',
    sql: `SELECT 'partition', o.partition_no, 'counts', o.deferred_count, 'commands that wait, there are', COALESCE(d.waiting, 0)
      FROM applied_offset AS o
      LEFT JOIN (
        SELECT topic, partition_no, COUNT(*) AS waiting
        FROM deferred
        GROUP BY topic, partition_no
      ) AS d ON d.topic = o.topic AND d.partition_no = o.partition_no
      WHERE o.deferred_count <> COALESCE(d.waiting, 0)`,
  },
] as const
