import { setTimeout as delay } from 'node:timers/promises'
import { adjudicate, type BatchWrites, type Command, type LedgerState } from '@onceledger/core'
import { type Batch, batchStatements, createAdjudicator, NO_FAILPOINTS } from '@onceledger/ledger-store'
import { type BenchLedger, nowUs } from './ledger.ts'
import type { Lanes } from './workload.ts'

/** (c) The adjudicator as the shard service uses it, one lane a connection. */
export async function runAdjudicator(ledger: BenchLedger, lanes: Lanes): Promise<void> {
  const { database, names, registry } = ledger
  const adjudicator = createAdjudicator({
    database,
    names,
    registry,
    nowUs,
    failpoints: NO_FAILPOINTS,
    random: Math.random,
    sleep: (ms) => delay(ms),
  })
  await Promise.all(
    lanes.map(async (batches) => {
      for (const batch of batches) {
        const outcome = await adjudicator.judge(batch)
        if (outcome.kind !== 'committed') throw new Error(`the adjudicator answered ${outcome.kind}`)
      }
    }),
  )
}

/** The rows of a batch, judged beforehand: what the raw ceiling writes. */
export interface PreparedBatch {
  readonly batch: Batch
  readonly writes: BatchWrites
}

/** Judges all lanes in memory, so that the raw ceiling writes the very rows that the adjudicator would. */
export function prepareRaw(ledger: BenchLedger, lanes: Lanes): readonly (readonly PreparedBatch[])[] {
  const accounts = new Map<string, { balanceMinor: bigint; version: bigint; overdraftLimitMinor: bigint }>()
  const state: LedgerState = { operations: new Map(), events: new Map(), reversals: new Set(), corruptAccounts: new Set(), accounts }
  return lanes.map((batches) =>
    batches.map((batch) => {
      const commands = batch.items.flatMap((item): Command[] => (item.kind === 'command' ? [item.command] : []))
      const { writes } = adjudicate(state, commands, { nowUs: nowUs(), registry: ledger.registry })
      for (const { aggregateId, currency, balanceMinor, version, overdraftLimitMinor } of writes.accounts)
        accounts.set(aggregateId + currency, { balanceMinor, version, overdraftLimitMinor })
      return { batch, writes }
    }),
  )
}

/** (b) The same rows by the same multi-row statements and a commit: no locks taken first, nothing read, nothing judged. */
export async function runRaw(ledger: BenchLedger, prepared: readonly (readonly PreparedBatch[])[]): Promise<void> {
  await Promise.all(
    prepared.map((batches) =>
      ledger.database.withSession(async (session) => {
        const begun = new Set<number>()
        for (const { batch, writes } of batches) {
          const { partition } = batch.source
          const stored = begun.has(partition) ? { nextOffset: batch.source.expectedOffset, lastDigest: null } : null
          const judgements = batch.items.map(() => ({ verdict: 'APPLIED', reason: null, first: null }) as const)
          const { rows, offset } = batchStatements({
            writes,
            source: batch.source,
            stored,
            judgements,
            names: ledger.names,
            nowUs: nowUs(),
          })
          await session.run(['START TRANSACTION', ...rows, ...offset, 'COMMIT'].join(';'))
          begun.add(partition)
        }
      }),
    ),
  )
}
