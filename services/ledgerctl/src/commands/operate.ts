import { checkLedger, listParked, loadShardMap, resetOffset } from '@onceledger/ledger-store'
import { ownerOf } from '@onceledger/shard-map'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs, toTable } from '../output.ts'

export interface ParkedOptions {
  readonly reason?: string
  readonly limit: number
  readonly shard?: number
}

/** Messages that could not be judged, of all shards or of one (ADJ-10). */
export async function listParkedCommand(ledger: Ledger, output: Output, { reason, limit, shard }: ParkedOptions): Promise<void> {
  const wanted = ledger.shards.map((database, no) => ({ database, no })).filter(({ no }) => shard === undefined || no === shard)
  if (wanted.length === 0)
    throw new CommandFailed(EXIT.usage, `there is no shard ${shard}; there are ${ledger.shards.length}, counted from 0`)
  const filter = reason === undefined ? { limit } : { limit, reason }
  const parked = (
    await Promise.all(wanted.map(async ({ database, no }) => (await listParked(database, filter)).map((each) => ({ shard: no, ...each }))))
  ).flat()
  output.result(
    parked.map(({ key, ...rest }) => ({ ...rest, key: key?.toString('utf8') ?? null })),
    () =>
      parked.length === 0
        ? ['nothing is parked']
        : toTable([
            ['shard', 'id', 'position', 'reason', 'parked at', 'tries', 'bytes', 'detail'],
            ...parked.map((each) => [
              String(each.shard),
              each.id.toString(),
              `${each.partition}@${each.offset}`,
              each.reason,
              timeOfUs(each.parkedAtUs),
              String(each.attempts),
              String(each.valueBytes),
              each.detail,
            ]),
          ]),
  )
}

/** The auditor's reconciliation: balances against postings, in every shard. */
export async function checkCommand(ledger: Ledger, output: Output): Promise<void> {
  const shards = await Promise.all(ledger.shards.map(async (database, shard) => ({ shard, ...(await checkLedger(database)) })))
  const findings = shards.flatMap(({ shard, findings: own }) => own.map((finding) => ({ shard, ...finding })))
  output.result({ ok: findings.length === 0, shards }, () => [
    ...shards.map(
      ({ shard, figures }) =>
        `shard ${shard}: ${figures.operations} operations, ${figures.postings} postings, ${figures.inboxRows} inbox rows`,
    ),
    ...findings.map(({ shard, invariant, detail }) => `shard ${shard}: BROKEN: ${invariant}: ${detail}`),
    findings.length === 0 ? 'the books are right' : `${findings.length} findings`,
  ])
  if (findings.length > 0)
    throw new CommandFailed(EXIT.finding, 'the rows contradict each other: keep them as they are, and find out what wrote them')
}

export interface ResetOptions {
  readonly partition: number
  readonly to: bigint
  readonly yes: boolean
}

/** An operator's word that a partition goes on elsewhere. */
export async function resetOffsetCommand(ledger: Ledger, output: Output, { partition, to, yes }: ResetOptions): Promise<void> {
  const { topic, bucketCount } = await ledger.foundation()
  if (partition >= bucketCount) throw new CommandFailed(EXIT.usage, `partition ${partition} of a topic of ${bucketCount} partitions`)
  const { shard } = ownerOf(await loadShardMap(ledger.control), partition)
  const database = ledger.shards[shard]
  if (database === undefined)
    throw new CommandFailed(EXIT.usage, `partition ${partition} belongs to shard ${shard}, which ONCELEDGER_MYSQL_URLS does not name`)
  if (!yes)
    throw new CommandFailed(
      EXIT.usage,
      `this makes partition ${partition} of ${topic} go on at offset ${to}. Messages before it are never judged, unless they are sent again. Say --yes if that is meant`,
    )
  await resetOffset(database, topic, partition, to, BigInt(Date.now()) * 1000n)
  output.result({ topic, partition, shard, next_offset: to }, () => [`partition ${partition} of ${topic} goes on at offset ${to}`])
}
