import type { ResultProducer } from '@onceledger/command-log'
import { resultsTopicOf } from '@onceledger/core'
import type { HealthState, Logger } from '@onceledger/runtime'
import type { ShardContext } from '../context.ts'
import type { ShardMetrics } from '../observe.ts'
import { ResultCatchUp } from './catch-up.ts'
import { type RelayOptions, ResultRelay } from './relay.ts'

export interface ResultsOutletParts {
  readonly relay: ResultRelay
  readonly catchUp: ResultCatchUp
}

export interface OutletOptions {
  readonly context: ShardContext
  readonly producer: ResultProducer
  readonly failpoints: RelayOptions['failpoints']
  readonly health: HealthState
  readonly metrics: ShardMetrics
  readonly log: Logger
  readonly restart: (partition: number) => void
}

/** Wires what publishes results: the relay, and the catch-up after a crash. */
export function openResults({ context, producer, failpoints, health, metrics, log, restart }: OutletOptions): ResultsOutletParts {
  const { database, names, registry, admin, foundation } = context
  const { topic, bucketCount } = foundation
  const relay = new ResultRelay({
    producer,
    topic: resultsTopicOf(topic),
    failpoints,
    random: Math.random,
    onState(fault) {
      health.set('results', fault === null, fault === null ? '' : `results are not published: ${fault}`)
      if (fault !== null) log.warn({ error: fault }, 'the results topic did not take results; they wait')
    },
    onPublished: (results) => metrics.resultsPublished(results),
    onPending: (results) => metrics.resultsPending(results),
  })
  const catchUp = new ResultCatchUp({
    database,
    names,
    registry,
    topic,
    bucketCount,
    relay,
    logStart: async (partition) => (await admin.topicOffsets(topic)).get(partition)?.low ?? 0n,
    restart,
    onUnknown(partition, messages) {
      metrics.resultsUnknown(messages)
      log.warn({ partition, messages }, 'messages judged before have no stored trace, so their results cannot be told')
    },
  })
  return { relay, catchUp }
}
