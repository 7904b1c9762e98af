import type { ShardDatabase } from '../session.ts'

/** One invariant that a shard's rows break. */
export interface LedgerFinding {
  readonly invariant: string
  /** Tenant number, account and figures, for a person. */
  readonly detail: string
}

const FINDINGS_MAX = 100
const EXTERNAL = `a.business_key LIKE x'4065787465726e616c2f25'`

/**
 * Holds a shard's balances against its postings, by its rows alone (ADJ-9): an auditor's reconciliation. Reads whole tables: for demonstrations,
 * nights and incidents. One snapshot, so it may run while the shard works.
 * @returns at most 100 findings for each invariant; none when the books are right.
 */
export async function checkLedger(database: ShardDatabase): Promise<LedgerFinding[]> {
  return database.withSession(async (session) => {
    await session.run(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
      START TRANSACTION WITH CONSISTENT SNAPSHOT`)
    const findings: LedgerFinding[] = []
    for (const { invariant, sql } of INVARIANTS) {
      const [rows = []] = await session.run(`${sql}
        LIMIT ${FINDINGS_MAX}`)
      for (const row of rows) findings.push({ invariant, detail: row.map(printCell).join(' ') })
    }
    await session.run('ROLLBACK')
    return findings
  })
}

function printCell(cell: unknown): string {
  return Buffer.isBuffer(cell) ? cell.toString('utf8') : String(cell)
}

/** Postings of both tables: the applied operation is its own posting, event-judged contracts have theirs apart. */
const POSTINGS = `(
    SELECT aggregate_id, currency, account_version, amount, bucket, tenant_no
    FROM operation
    WHERE verdict = 1 AND amount <> 0
    UNION ALL
    SELECT aggregate_id, currency, account_version, amount, bucket, tenant_no
    FROM posting
  )`

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
    sql: `SELECT 'account', a.business_key, a.currency, 'has', a.balance, 'its postings sum to', COALESCE(SUM(p.amount), 0)
      FROM account AS a
      LEFT JOIN ${POSTINGS} AS p ON p.aggregate_id = a.aggregate_id AND p.currency = a.currency
      WHERE NOT ${EXTERNAL}
      GROUP BY a.aggregate_id, a.currency, a.business_key, a.balance
      HAVING a.balance <> COALESCE(SUM(p.amount), 0)`,
  },
  {
    invariant: "an account's versions count its postings without gaps",
    sql: `SELECT 'account', a.business_key, a.currency, 'is at version', a.version, 'with', COUNT(p.account_version), 'postings'
      FROM account AS a
      LEFT JOIN ${POSTINGS} AS p ON p.aggregate_id = a.aggregate_id AND p.currency = a.currency
      WHERE NOT ${EXTERNAL}
      GROUP BY a.aggregate_id, a.currency, a.business_key, a.version
      HAVING a.version <> COUNT(p.account_version)
        OR a.version <> COUNT(DISTINCT p.account_version)
        OR a.version <> COALESCE(MAX(p.account_version), 0)`,
  },
  {
    invariant: 'every posting has its account',
    sql: `SELECT 'aggregate', HEX(p.aggregate_id), p.currency, 'has postings and no account'
      FROM ${POSTINGS} AS p
      LEFT JOIN account AS a ON a.aggregate_id = p.aggregate_id AND a.currency = p.currency
      WHERE a.aggregate_id IS NULL
      GROUP BY p.aggregate_id, p.currency`,
  },
  {
    invariant: "a bucket's external account is the opposite of the bucket's postings",
    sql: `SELECT 'account', a.business_key, a.currency, 'has', a.balance, 'the postings of its bucket sum to', COALESCE(SUM(p.amount), 0)
      FROM account AS a
      LEFT JOIN ${POSTINGS} AS p ON p.bucket = a.bucket AND p.tenant_no = a.tenant_no AND p.currency = a.currency
      WHERE ${EXTERNAL}
      GROUP BY a.aggregate_id, a.currency, a.business_key, a.balance
      HAVING a.balance <> -COALESCE(SUM(p.amount), 0)`,
  },
] as const
