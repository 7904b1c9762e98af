import type { CommandConsumer } from '@onceledger/command-log'
import { loadProgress } from '@onceledger/ledger-store'
import type { HealthState, Logger } from '@onceledger/runtime'
import type { ShardContext } from './context.ts'
import type { ShardMetrics } from './observe.ts'
import { findTopicFault } from './topic-check.ts'

export interface WatchOptions {
  readonly context: ShardContext
  readonly consumer: Pick<CommandConsumer, 'stats' | 'restart'>
  readonly health: HealthState
  readonly metrics: ShardMetrics
  readonly log: Logger
}

const WATCH_INTERVAL_MS = 5_000

/** Looks at the outside world again and again, never twice at once, and keeps readiness and lag true to it. @returns what ends it. */
export function watchOutside(options: WatchOptions): () => void {
  let looking = false
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    void lookOnce(options).finally(() => {
      looking = false
    })
  }, WATCH_INTERVAL_MS)
  return () => clearInterval(timer)
}

/** Every check has its own name, so that one that recovers turns green whatever the others do. */
export async function lookOnce({ context, consumer, health, metrics, log }: WatchOptions): Promise<void> {
  for (const { partition, lag } of consumer.stats()) metrics.lag(partition, lag)
  const look = async (check: string, find: () => Promise<string | null>): Promise<void> => {
    const fault = await find().catch((error: unknown) => (error instanceof Error ? error.message || error.name : String(error)))
    health.set(check, fault === null, fault ?? '')
    if (fault !== null) log.warn({ check, reason: fault }, 'a periodic check failed')
  }
  await look('topic', () => findTopicFault(context.admin, context.foundation))
  await look('database', async () => {
    await restartRestored(context, consumer, log)
    return null
  })
}

/**
 * A position only moves after the commit that stored it. So a database that stands before it was restored to an earlier point, and its commands
 * must be read again from there, also when no new message comes to show it (ADJ-8).
 */
async function restartRestored(context: ShardContext, consumer: WatchOptions['consumer'], log: Logger): Promise<void> {
  const positions = consumer.stats().filter(({ phase, position }) => phase === 'running' && position > 0n)
  const stored = new Map((await loadProgress(context.database, context.foundation.topic)).map((each) => [each.partition, each.nextOffset]))
  for (const { partition, position } of positions) {
    const nextOffset = stored.get(partition)
    if (nextOffset !== undefined ? nextOffset >= position : context.fresh.has(partition)) continue
    log.warn(
      { partition, position, nextOffset: nextOffset ?? null },
      'the database stands at an earlier position: starting again from there',
    )
    consumer.restart(partition)
  }
}
