import { checkLedger } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import type { Output } from '../output.ts'

/** A reconciliation reads whole tables: about 8 s for a million operations, and more where the disk is slow. */
export const CHECK_QUERY_TIMEOUT_MS = 30 * 60_000

/** The auditor's reconciliation: balances against postings, in every shard (ADJ-9). */
export async function checkCommand(ledger: Ledger, output: Output): Promise<void> {
  const databases = await ledger.shards()
  const shards = await Promise.all(databases.map(async (database, shard) => ({ shard, ...(await checkLedger(database)) })))
  const findings = shards.flatMap(({ shard, findings: own }) => own.map((finding) => ({ shard, ...finding })))
  output.result({ ok: findings.length === 0, shards }, () => [
    ...shards.map(
      ({ shard, figures }) =>
        `shard ${shard}: ${figures.accounts} accounts, ${figures.operations} operations (${figures.appliedOperations} applied, ${figures.rejectedOperations} rejected), ${figures.postings} postings, ${figures.inboxRows} inbox rows, ${figures.audits} audits, ${figures.parked} parked`,
    ),
    ...findings.map(({ shard, invariant, detail }) => `shard ${shard}: BROKEN: ${invariant}: ${detail}`),
    findings.length === 0 ? 'the books are right' : `${findings.length} findings`,
  ])
  if (findings.length > 0)
    throw new CommandFailed(EXIT.finding, 'the rows contradict each other: keep them as they are, and find out what wrote them')
}
