import { findTenantNo, type GapView, loadGaps, loadTenantIds } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs, toTable } from '../output.ts'

export interface GapsOptions {
  readonly tenant?: string
  readonly limit: number
}

/** Business keys whose commands wait for versions that have not come, those that wait longest first (ORD-3). */
export async function listGapsCommand(ledger: Ledger, output: Output, { tenant, limit }: GapsOptions): Promise<void> {
  const tenantNo = tenant === undefined ? undefined : await findTenantNo(ledger.control, tenant)
  if (tenant !== undefined && tenantNo === undefined)
    throw new CommandFailed(EXIT.finding, `tenant ${JSON.stringify(tenant)} has never had a command judged`)
  const filter = tenantNo === undefined ? { limit } : { limit, tenantNo }
  const shards = await ledger.shards()
  const found = (
    await Promise.all(shards.map(async (database, shard) => (await loadGaps(database, filter)).map((gap) => ({ shard, ...gap }))))
  ).flat()
  const tenants = await loadTenantIds(
    ledger.control,
    found.map((gap) => gap.tenantNo),
  )
  const nowMs = Date.now()
  const gaps = found
    .sort((left, right) => Number(left.oldestSinceUs - right.oldestSinceUs))
    .slice(0, limit)
    .map((gap) => ({
      ...gap,
      tenant: tenants.get(gap.tenantNo) ?? String(gap.tenantNo),
      age_seconds: Math.max(0, Math.round((nowMs - Number(gap.oldestSinceUs / 1000n)) / 1000)),
    }))
  output.result(gaps, () => (gaps.length === 0 ? ['no command waits for a predecessor'] : toTable([HEADING, ...gaps.map(rowOf)])))
}

const HEADING = ['shard', 'tenant', 'key', 'head', 'missing', 'waiting', 'age s', 'asked', 'last asked']

function rowOf(gap: GapView & { readonly shard: number; readonly tenant: string; readonly age_seconds: number }): string[] {
  const missing = gap.missing.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
  const asked = gap.requests === 0 ? 'never' : timeOfUs(gap.requestedAtUs)
  return [gap.shard, gap.tenant, gap.businessKey, gap.headVersion, missing, gap.waiting, gap.age_seconds, gap.requests, asked].map(String)
}
