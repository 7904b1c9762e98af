import type { StoreLedger } from '../../support/store-ledger.ts'

/** Account, currency, version, amount and balance after it of every posting: applied operations that moved money, and event postings. */
const POSTINGS = `SELECT aggregate_id, currency, account_version, amount, balance_after
    FROM operation
    WHERE verdict = 1 AND amount <> 0
  UNION ALL
  SELECT aggregate_id, currency, account_version, amount, balance_after
    FROM posting`

/** Everything that ADJ-9 forbids and that stands all the same; empty for a sound ledger. */
export async function ledgerViolations(ledger: StoreLedger): Promise<string[]> {
  const checks: Readonly<Record<string, string>> = {
    'balances do not sum to zero': `SELECT currency, SUM(balance)
      FROM account
      GROUP BY currency
      HAVING SUM(balance) <> 0`,
    'the history of an account has a gap': `SELECT aggregate_id, COUNT(*), MAX(account_version)
      FROM (${POSTINGS}) AS p
      GROUP BY aggregate_id, currency
      HAVING COUNT(*) <> MAX(account_version) OR COUNT(DISTINCT account_version) <> COUNT(*)`,
    'a balance after is not the one before plus the amount': `SELECT aggregate_id, account_version
      FROM (
        SELECT aggregate_id, account_version, balance_after,
          SUM(amount) OVER (PARTITION BY aggregate_id, currency ORDER BY account_version) AS running
        FROM (${POSTINGS}) AS p
      ) AS r
      WHERE running <> balance_after`,
    'an account is not the end of its history': `SELECT a.business_key, a.balance, a.version
      FROM account AS a
      LEFT JOIN (
        SELECT aggregate_id, currency, SUM(amount) AS total, COUNT(*) AS postings
        FROM (${POSTINGS}) AS p
        GROUP BY aggregate_id, currency
      ) AS h ON h.aggregate_id = a.aggregate_id AND h.currency = a.currency
      WHERE a.business_key NOT LIKE '@%'
        AND (a.balance <> COALESCE(h.total, 0) OR a.version <> COALESCE(h.postings, 0))`,
    'an external account is not minus the sum of its bucket': `SELECT e.business_key, e.balance
      FROM account AS e
      WHERE e.business_key LIKE '@%' AND e.balance <> (
        SELECT COALESCE(-SUM(a.balance), 0)
        FROM account AS a
        WHERE a.business_key NOT LIKE '@%' AND a.bucket = e.bucket AND a.tenant_no = e.tenant_no AND a.currency = e.currency)`,
    'an operation has neither an inbox row nor the audit row of its reused event id': `SELECT o.operation_id
      FROM operation AS o
      LEFT JOIN inbox AS i ON i.tenant_no = o.tenant_no AND i.operation_id = o.operation_id AND i.aggregate_id = o.aggregate_id
      LEFT JOIN conflict_audit AS c ON c.kind = 'EVENT_REUSED' AND c.operation_id = o.operation_id AND c.aggregate_id = o.aggregate_id
      WHERE i.event_id IS NULL AND c.event_id IS NULL`,
  }
  const found: string[] = []
  for (const [meaning, sql] of Object.entries(checks)) {
    const rows = await ledger.rows(sql)
    if (rows.length > 0) found.push(`${meaning}: ${JSON.stringify(rows[0])}`)
  }
  return found
}
