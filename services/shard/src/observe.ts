import type { CommandLogMetrics, PartitionState } from '@onceledger/command-log'
import type { Judgement } from '@onceledger/core'
import type { AdjudicatorObserver } from '@onceledger/ledger-store'
import type { HealthState, Logger, Metrics } from '@onceledger/runtime'

/** Everything that this service counts, under its Prometheus names. */
export interface ShardMetrics extends AdjudicatorObserver, CommandLogMetrics {
  judged(judgements: readonly Judgement[]): void
  partitionState(partition: number, state: PartitionState): void
  lag(partition: number, records: bigint): void
  resultsPublished(results: number): void
  resultsPending(results: number): void
  resultsUnknown(messages: number): void
  gaps(aggregates: number, waiting: number, oldestMs: number): void
  gapRequested(): void
}

const PARTITION_STATES = ['assigned', 'running', 'paused', 'broken', 'revoked'] as const

export function createShardMetrics(metrics: Metrics): ShardMetrics {
  const verdicts = metrics.counter({ name: 'onceledger_verdicts_total', help: 'Messages judged, by verdict.', labels: ['verdict'] })
  const retries = metrics.counter({
    name: 'onceledger_adjudication_retries_total',
    help: 'Attempts that failed, by fault code.',
    labels: ['code'],
  })
  const splits = metrics.counter({ name: 'onceledger_batch_splits_total', help: 'Batches cut in half to find a bad message.' })
  const poisoned = metrics.counter({
    name: 'onceledger_poisoned_messages_total',
    help: 'Messages parked because they failed alone.',
    labels: ['code'],
  })
  const received = metrics.counter({ name: 'onceledger_records_received_total', help: 'Records taken from the log.' })
  const batches = metrics.histogram({
    name: 'onceledger_batch_seconds',
    help: 'From taking a batch to its outcome.',
    labels: ['result'],
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
  })
  const queued = metrics.gauge({ name: 'onceledger_queued_records', help: 'Records taken from the log and not judged yet.' })
  const partitions = metrics.gauge({
    name: 'onceledger_partition_state',
    help: '1 for the state a partition is in.',
    labels: ['partition', 'state'],
  })
  const lag = metrics.gauge({
    name: 'onceledger_lag_records',
    help: 'Records between the applied offset and the log end.',
    labels: ['partition'],
  })
  const published = metrics.counter({ name: 'onceledger_results_published_total', help: 'Results acknowledged by the results topic.' })
  const pending = metrics.gauge({
    name: 'onceledger_results_pending',
    help: 'Results of committed messages that wait for the results topic.',
  })
  const unknown = metrics.counter({
    name: 'onceledger_results_unknown_total',
    help: 'Messages judged before a crash of which nothing stored tells the result.',
  })
  const gaps = metrics.gauge({ name: 'onceledger_gaps', help: 'Business keys with commands that wait for a predecessor.' })
  const waiting = metrics.gauge({ name: 'onceledger_deferred_commands', help: 'Commands that wait for a predecessor.' })
  const oldest = metrics.gauge({ name: 'onceledger_gap_age_seconds', help: 'How long the oldest of them has waited.' })
  const requests = metrics.counter({ name: 'onceledger_gap_requests_total', help: 'Requests for missing versions.' })
  const groupCommits = metrics.counter({
    name: 'onceledger_group_commit_failures_total',
    help: 'Group offsets that Kafka did not take; harmless.',
  })
  return {
    judged(judgements) {
      const counts = new Map<string, number>()
      for (const { verdict } of judgements) counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
      for (const [verdict, count] of counts) verdicts.inc({ verdict }, count)
    },
    onRetry: (code) => retries.inc({ code }),
    onSplit: () => splits.inc(),
    onPoison: (_item, code) => poisoned.inc({ code }),
    recordsReceived: (_partition, records) => received.inc({}, records),
    batchHandled: (_partition, _records, durationMs, result) => batches.observe({ result }, durationMs / 1000),
    queueChanged: (records) => queued.set({}, records),
    groupCommitFailed: () => groupCommits.inc(),
    partitionState(partition, { state }) {
      for (const name of PARTITION_STATES) partitions.set({ partition: String(partition), state: name }, name === state ? 1 : 0)
    },
    resultsPublished: (results) => published.inc({}, results),
    resultsPending: (results) => pending.set({}, results),
    resultsUnknown: (messages) => unknown.inc({}, messages),
    gaps(aggregates, commands, oldestMs) {
      gaps.set({}, aggregates)
      waiting.set({}, commands)
      oldest.set({}, oldestMs / 1000)
    },
    gapRequested: () => requests.inc(),
    lag: (partition, records) => lag.set({ partition: String(partition) }, Number(records)),
  }
}

/** Keeps readiness true to the partitions: one that is paused or broken turns it red with its reason; the others go on. */
export function watchPartitions(
  health: HealthState,
  metrics: ShardMetrics,
  log: Logger,
): (partition: number, state: PartitionState) => void {
  return (partition, { state, reason }) => {
    metrics.partitionState(partition, { state, reason })
    const check = `partition-${partition}`
    if (state === 'paused' || state === 'broken') health.set(check, false, `${state}: ${reason ?? 'no reason given'}`)
    else health.clear(check)
    const level = state === 'broken' ? 'error' : state === 'paused' ? 'warn' : 'info'
    log[level]({ partition, state, reason }, 'partition state')
  }
}
