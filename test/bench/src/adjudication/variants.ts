import { setTimeout as delay } from 'node:timers/promises'
import { type AccountState, adjudicate, type BatchWrites, type Command, EMPTY_STATE, type LedgerState } from '@onceledger/core'
import { type Batch, batchStatements, createAdjudicator, NO_FAILPOINTS, NO_TALLY } from '@onceledger/ledger-store'
import { type BenchLedger, nowUs } from './ledger.ts'
import { BENCH_BUCKETS, type Lanes } from './workload.ts'

/** (c) The adjudicator as the shard service uses it, one lane a connection. */
export async function runAdjudicator(ledger: BenchLedger, lanes: Lanes): Promise<void> {
  const { database, names, registry } = ledger
  const adjudicator = createAdjudicator({
    database,
    names,
    registry,
    bucketCount: BENCH_BUCKETS,
    publishing: false,
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
  const accounts = new Map<string, AccountState>()
  const state: LedgerState = { ...EMPTY_STATE, accounts }
  return lanes.map((batches) =>
    batches.map((batch) => {
      const commands = batch.items.flatMap((item): Command[] => (item.kind === 'command' ? [item.command] : []))
      const { writes } = adjudicate(state, commands, { nowUs: nowUs(), registry: ledger.registry })
      for (const { aggregateId, currency, balanceMinor, version, overdraftLimitMinor, limitVersion } of writes.accounts)
        accounts.set(aggregateId + currency, { balanceMinor, version, overdraftLimitMinor, limitVersion })
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
          const stored = begun.has(partition) ? { nextOffset: batch.source.expectedOffset, lastDigest: null, publishedOffset: 0n } : null
          const { rows, offset } = batchStatements({
            writes,
            source: batch.source,
            stored,
            tally: { ...NO_TALLY, applied: batch.items.length },
            outbox: [],
            publishing: false,
            names: ledger.names,
            homeBucketOf: () => partition,
            nowUs: nowUs(),
          })
          await session.run(['START TRANSACTION', ...rows, ...offset, 'COMMIT'].join(';'))
          begun.add(partition)
        }
      }),
    ),
  )
}
