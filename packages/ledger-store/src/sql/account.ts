import { type AccountOwner, type AccountState, type AccountWrite, accountKey, type AggregateId } from '@onceledger/core'
import type { Names } from '../names.ts'
import type { Row } from '../session.ts'
import { currencyLiteral, hexLiteral, textLiteral } from './literal.ts'

/**
 * Locks accounts in the order given, which must be that of the key. A join to a table of values is looked up row by row in that order; a
 * bare IN list may turn into a scan that locks every account of a small table.
 */
export function lockAccounts(owners: readonly AccountOwner[]): string {
  const values = owners.map((owner) => `ROW(${hexLiteral(owner.aggregateId)},${currencyLiteral(owner.currency)})`)
  return `SELECT a.aggregate_id, a.currency, a.tenant_no, a.business_key, a.version, a.balance, a.overdraft_limit, a.limit_version
    FROM (VALUES ${values.join(',')}) AS wanted (aggregate_id, currency)
    STRAIGHT_JOIN account AS a FORCE INDEX (PRIMARY)
      ON a.aggregate_id = wanted.aggregate_id AND a.currency = wanted.currency
    FOR UPDATE OF a`
}

export interface LockedAccounts {
  readonly accounts: Map<string, AccountState>
  readonly corruptAccounts: Set<string>
}

/** A row whose names are not those that its key was derived from is a fault, never a match. */
export function parseAccounts(rows: readonly Row[], owners: readonly AccountOwner[], names: Names): LockedAccounts {
  const ownerByKey = new Map(owners.map((owner) => [accountKey(owner.aggregateId, owner.currency), owner]))
  const accounts = new Map<string, AccountState>()
  const corruptAccounts = new Set<string>()
  for (const [aggregateId, currency, tenantNo, businessKey, version, balance, overdraftLimit, limitVersion] of rows) {
    const key = accountKey((aggregateId as Buffer).toString('hex') as AggregateId, (currency as Buffer).toString('latin1'))
    const owner = ownerByKey.get(key)
    const matches =
      owner !== undefined &&
      Number(tenantNo) === names.tenantNo(owner.tenantId) &&
      (businessKey as Buffer).equals(Buffer.from(owner.businessKey, 'utf8'))
    if (!matches) corruptAccounts.add(key)
    accounts.set(key, {
      version: BigInt(version as string),
      balanceMinor: BigInt(balance as string),
      overdraftLimitMinor: BigInt(overdraftLimit as string),
      limitVersion: BigInt(limitVersion as string),
    })
  }
  return { accounts, corruptAccounts }
}

export function insertAccounts(rows: readonly AccountWrite[], names: Names): string {
  const values = rows.map(
    (row) =>
      `(${hexLiteral(row.aggregateId)},${currencyLiteral(row.currency)},${names.tenantNo(row.tenantId)},${textLiteral(row.businessKey)},` +
      `${row.bucket},${row.version},${row.balanceMinor},${row.overdraftLimitMinor},${row.limitVersion})`,
  )
  return `INSERT INTO account (aggregate_id, currency, tenant_no, business_key, bucket, version, balance, overdraft_limit, limit_version)
    VALUES ${values.join(',')}`
}

/** The version before is compared too; the caller guards the count of rows. */
export function updateAccounts(rows: readonly AccountWrite[]): string {
  const values = rows.map(
    (row) =>
      `ROW(${hexLiteral(row.aggregateId)},${currencyLiteral(row.currency)},${row.versionBefore},${row.version},${row.balanceMinor},` +
      `${row.overdraftLimitMinor},${row.limitVersion})`,
  )
  return `UPDATE (VALUES ${values.join(',')}) AS next (aggregate_id, currency, version_before, version, balance, overdraft_limit, limit_version)
    STRAIGHT_JOIN account AS a FORCE INDEX (PRIMARY)
      ON a.aggregate_id = next.aggregate_id AND a.currency = next.currency AND a.version = next.version_before
    SET a.version = next.version, a.balance = next.balance,
      a.overdraft_limit = next.overdraft_limit, a.limit_version = next.limit_version`
}
