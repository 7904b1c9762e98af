import { type BusinessKey, type FirstResult, parseBusinessKey, parseTenantId, type TenantId } from '@onceledger/core'
import {
  type AuditSubject,
  type AuditView,
  type BindingView,
  findAudits,
  findBinding,
  findOperation,
  findReversal,
  findTenantNo,
} from '@onceledger/ledger-store'
import { homeBucketOf } from '@onceledger/shard-map'
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
  const binding = contract.scope === 'tenant' ? await loadBinding(ledger, tenantId, options, typeNo) : null
  const key = keyOf(options, contract.scope, binding)
  const { database, name } = await ledger.locate(tenantId, key)
  const found = await findOperation(database, name, typeNo, operationId)
  const identity = { kind: 'operation', tenantNo: name.tenantNo, type, typeNo, operationId } as const
  const audits =
    options.key === undefined ? await findEverywhere(ledger, identity) : await findAudits(database, { ...identity, aggregate: name })
  if (found === null && audits.length === 0 && binding?.businessKey !== key)
    throw new CommandFailed(
      EXIT.finding,
      `no ${type} ${JSON.stringify(operationId)} of ${tenantId}/${key} is recorded${binding === null ? '' : `; it belongs to ${tenantId}/${binding.businessKey}`}`,
    )
  const reversal = await findReversal(database, name, { typeNo, operationId })
  const typeOf = (no: number): string => names.operationTypeName(no) ?? String(no)
  const reversedBy = reversal === null ? null : { type: typeOf(reversal.operationTypeNo), operationId: reversal.operationId }
  const { topic } = await ledger.foundation()
  const from = found === null ? {} : { topic, partition: found.bucket }
  const claimedBy = binding === null ? {} : { claimed_by: binding }
  output.result({ type, key, ...(found ?? { operationId }), ...from, ...claimedBy, reversed_by: reversedBy, audits }, () => [
    `${type} ${operationId} of ${tenantId}/${key}`,
    ...(found === null ? ['has no result under this key'] : resultLines(found.result)),
    ...(found === null
      ? []
      : [`came through ${topic} partition ${found.bucket}`, `contract version ${found.contractVersion}, intent ${found.intentDigest}`]),
    ...(binding === null ? [] : [`tenant-wide, claimed by ${tenantId}/${binding.businessKey} at ${timeOfUs(binding.boundAtUs)}`]),
    ...(reversedBy === null ? [] : [`reversed by ${reversedBy.type} ${reversedBy.operationId}`]),
    ...auditLines(audits, typeOf),
  ])
}

/** Whose a tenant-wide identity is, asked at its home. */
async function loadBinding(
  ledger: Ledger,
  tenantId: TenantId,
  { type, operationId }: OperationOptions,
  typeNo: number,
): Promise<BindingView | null> {
  const { bucketCount } = await ledger.foundation()
  const { database } = await ledger.shardOf(homeBucketOf(tenantId, type, operationId, bucketCount))
  const tenantNo = await findTenantNo(ledger.control, tenantId)
  return tenantNo === undefined ? null : findBinding(database, { tenantNo, typeNo, operationId })
}

function keyOf(
  { tenant, key, type, operationId }: OperationOptions,
  scope: 'business-key' | 'tenant',
  binding: BindingView | null,
): BusinessKey {
  if (key !== undefined) return parseBusinessKey(key)
  if (scope !== 'tenant') throw new CommandFailed(EXIT.usage, `a ${type} belongs to a business key: give --key too`)
  if (binding !== null) return binding.businessKey
  throw new CommandFailed(EXIT.finding, `nobody of ${tenant} has claimed the ${type} ${JSON.stringify(operationId)}`)
}

/** A tenant-wide identity may have been refused under any key, in any shard. */
async function findEverywhere(ledger: Ledger, identity: AuditSubject): Promise<AuditView[]> {
  const shards = await ledger.shards()
  const audits = (await Promise.all(shards.map((database) => findAudits(database, identity)))).flat()
  return audits.sort((left, right) => Number(left.firstSeenUs - right.firstSeenUs))
}

function resultLines({ verdict, reason, amountMinor, currency, accountVersion, balanceAfterMinor, committedAtUs }: FirstResult): string[] {
  const effect =
    verdict === 'APPLIED'
      ? `${amountMinor} ${currency ?? ''}, balance after ${balanceAfterMinor}, account version ${accountVersion}`
      : (reason ?? '')
  return [`first result: ${verdict} ${effect}`, `judged at ${timeOfUs(committedAtUs)}`]
}
