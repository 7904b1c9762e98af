import { bindingKey, type BusinessKey, type FirstResult, parseBusinessKey, parseTenantId, type TenantId } from '@onceledger/core'
import { findAudits, findBinding, findOperation, findReversal, findTenantNo } from '@onceledger/ledger-store'
import { bucketOfKey } from '@onceledger/shard-map'
import { auditLines } from '../audit-lines.ts'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs } from '../output.ts'

export interface OperationOptions {
  readonly tenant: string
  /** Not needed where the identity is tenant-wide. */
  readonly key?: string
  readonly type: string
  readonly operationId: string
}

/** One operation by its permanent key: its first result, what reversed it, and every use of its identity that was refused. */
export async function showOperation(ledger: Ledger, output: Output, options: OperationOptions): Promise<void> {
  const { type, operationId } = options
  const contract = ledger.registry.all().find(({ name }) => name === type)
  if (contract === undefined) {
    const types = new Set(ledger.registry.all().map(({ name }) => name))
    throw new CommandFailed(EXIT.usage, `there is no contract ${JSON.stringify(type)}; there are ${[...types].join(', ')}`)
  }
  const tenantId = parseTenantId(options.tenant)
  const names = await ledger.names()
  const typeNo = names.operationTypeNo(type)
  const key = options.key === undefined ? await boundKey(ledger, tenantId, contract.scope, options, typeNo) : parseBusinessKey(options.key)
  const { database, name } = await ledger.locate(tenantId, key)
  const found = await findOperation(database, name, typeNo, operationId)
  const audits = await findAudits(database, name, {
    consumerNo: names.consumerNo(contract.consumer),
    operation: { type, typeNo, operationId },
  })
  if (found === null && audits.length === 0)
    throw new CommandFailed(EXIT.finding, `no ${type} ${JSON.stringify(operationId)} of ${options.tenant}/${key} is recorded`)
  const reversal = await findReversal(database, name, { typeNo, operationId })
  const typeOf = (no: number): string => names.operationTypeName(no) ?? String(no)
  const reversedBy = reversal === null ? null : { type: typeOf(reversal.operationTypeNo), operationId: reversal.operationId }
  output.result({ type, key, ...(found ?? { operationId }), reversed_by: reversedBy, audits }, () => [
    `${type} ${operationId} of ${options.tenant}/${key}`,
    ...(found === null ? ['has no result: its identity was refused here'] : resultLines(found.result)),
    ...(found === null ? [] : [`contract version ${found.contractVersion}, bucket ${found.bucket}`, `intent ${found.intentDigest}`]),
    ...(reversedBy === null ? [] : [`reversed by ${reversedBy.type} ${reversedBy.operationId}`]),
    ...auditLines(audits, typeOf),
  ])
}

/** The business key that claimed a tenant-wide identity. */
async function boundKey(
  ledger: Ledger,
  tenantId: TenantId,
  scope: 'business-key' | 'tenant',
  { type, operationId }: OperationOptions,
  typeNo: number,
): Promise<BusinessKey> {
  if (scope !== 'tenant') throw new CommandFailed(EXIT.usage, `a ${type} belongs to a business key: give --key too`)
  const { bucketCount } = await ledger.foundation()
  const { database } = await ledger.shardOf(bucketOfKey(bindingKey(tenantId, type, operationId), bucketCount))
  const tenantNo = await findTenantNo(ledger.control, tenantId)
  const bound = tenantNo === undefined ? null : await findBinding(database, { tenantNo, typeNo, operationId })
  if (bound === null) throw new CommandFailed(EXIT.finding, `nobody of ${tenantId} has claimed the ${type} ${JSON.stringify(operationId)}`)
  return bound.businessKey
}

function resultLines({ verdict, reason, amountMinor, currency, accountVersion, balanceAfterMinor, committedAtUs }: FirstResult): string[] {
  const effect =
    verdict === 'APPLIED'
      ? `${amountMinor} ${currency ?? ''}, balance after ${balanceAfterMinor}, account version ${accountVersion}`
      : (reason ?? '')
  return [`first result: ${verdict} ${effect}`, `judged at ${timeOfUs(committedAtUs)}`]
}
