import type { CommandConsumer, PlacedRecord, ResultProducer } from '@onceledger/command-log'
import { gapsTopicOf, routingKey, usToIso } from '@onceledger/core'
import { countGaps, type GapView, loadGaps, loadTenantIds, markGapRequested } from '@onceledger/ledger-store'
import type { Logger } from '@onceledger/runtime'
import type { ShardContext } from './context.ts'
import type { ShardMetrics } from './observe.ts'

export interface GapWatchOptions {
  readonly context: Pick<ShardContext, 'database' | 'control' | 'foundation'>
  readonly consumer: Pick<CommandConsumer, 'stats'>
  readonly producer: Pick<ResultProducer, 'send'>
  readonly metrics: Pick<ShardMetrics, 'gaps' | 'gapRequested'>
  /** How long a command waits before its predecessor is asked for, and how often that is repeated. */
  readonly intervalMs: number
  readonly nowUs: () => bigint
  readonly log: Logger
}

const TICK_MAX_MS = 5_000
const TICK_MIN_MS = 100
/** Gaps asked for at one tick; the others come at the next. */
const REQUESTS_MAX = 100

/** Keeps the figures of waiting commands, and asks their sources for what is missing (ORD-3). @returns what ends it. */
export function watchGaps(options: GapWatchOptions): () => void {
  const tickMs = Math.min(TICK_MAX_MS, Math.max(TICK_MIN_MS, options.intervalMs / 2))
  let looking = false
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    lookAtGaps(options)
      .catch((error: unknown) => options.log.warn({ error: String(error) }, 'gaps could not be looked at; they will be again'))
      .finally(() => {
        looking = false
      })
  }, tickMs)
  return () => clearInterval(timer)
}

async function lookAtGaps(options: GapWatchOptions): Promise<void> {
  const { context, consumer, metrics, nowUs } = options
  const buckets = consumer.stats().flatMap(({ partition, phase }) => (phase === 'running' ? [partition] : []))
  const { gaps, waiting, oldestSinceUs } = await countGaps(context.database, buckets)
  metrics.gaps(gaps, waiting, oldestSinceUs === null ? 0 : Number((nowUs() - oldestSinceUs) / 1000n))
  if (gaps === 0) return
  const beforeUs = nowUs() - BigInt(options.intervalMs) * 1000n
  const found = await loadGaps(context.database, { buckets, limit: REQUESTS_MAX })
  const due = found.filter(({ oldestSinceUs: since, requestedAtUs }) => since <= beforeUs && requestedAtUs <= beforeUs)
  if (due.length > 0) await ask(due, options)
}

/** Published first and remembered then: a crash between the two asks again under the same id. */
async function ask(gaps: readonly GapView[], { context, producer, metrics, nowUs, log }: GapWatchOptions): Promise<void> {
  const { topic } = context.foundation
  const tenants = await loadTenantIds(
    context.control,
    gaps.map(({ tenantNo }) => tenantNo),
  )
  await producer.send(
    gapsTopicOf(topic),
    gaps.map((gap) => toRecord(gap, tenants.get(gap.tenantNo) ?? String(gap.tenantNo), topic, nowUs())),
  )
  for (const gap of gaps) {
    if (!(await markGapRequested(context.database, gap, nowUs()))) continue
    metrics.gapRequested()
    log.info({ businessKey: gap.businessKey, headVersion: gap.headVersion, waiting: gap.waiting }, 'asked for missing versions')
  }
}

function toRecord(gap: GapView, tenantId: string, topic: string, nowUs: bigint): PlacedRecord {
  const request = gap.requests + 1
  const event = {
    specversion: '1.0',
    id: `${gap.aggregateId}-${gap.headVersion}-${request}`,
    source: `/onceledger/${topic}`,
    type: 'onceledger.gap.v1',
    time: usToIso(nowUs),
    tenantid: tenantId,
    businesskey: gap.businessKey,
    data: {
      headVersion: gap.headVersion.toString(),
      missing: gap.missing.map(({ from, to }) => ({ from: from.toString(), to: to.toString() })),
      waiting: gap.waiting,
      waitingSince: usToIso(gap.oldestSinceUs),
      request,
    },
  }
  return { partition: gap.bucket, key: routingKey(tenantId, gap.businessKey), value: JSON.stringify(event) }
}
