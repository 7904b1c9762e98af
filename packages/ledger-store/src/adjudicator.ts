import { type Command, CorruptData, type Judgement } from '@onceledger/core'
import { type Batch, type BatchItem, type BatchOutcome, commandsOf, splitBatch } from './batch.ts'
import { type BatchContext, JudgementFailed, PacketTooLarge, runBatchTransaction } from './batch-transaction.ts'
import { StoreMisconfigured, StoreUnavailable } from './errors.ts'
import { classifyFault, type FaultKind } from './fault.ts'
import { mustReadFirst, type ReadMode } from './read-state.ts'
import { RecentIdentities } from './recent-identities.ts'

/** What an operator wants to count. */
export interface AdjudicatorObserver {
  onRetry?(code: string, attempt: number): void
  onSplit?(items: number, code: string): void
  onPoison?(item: BatchItem, code: string): void
}

export interface AdjudicatorOptions extends BatchContext {
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly observer?: AdjudicatorObserver
}

export interface Adjudicator {
  /**
   * Judges a batch, once, whatever fails on the way (ADJ-3, ADJ-4, ADJ-7).
   * @throws StoreUnavailable when bounded retries did not reach a decision or the fault is not the messages'. Nothing was recorded for
   * the rest of the batch; the same batch may be given again, and no message was parked for it.
   */
  judge(batch: Batch): Promise<BatchOutcome>
}

const ATTEMPTS_MAX = 6
const DELAY_BASE_MS = 20
const DELAY_MAX_MS = 1_000
/** After a unique key decided against an unread batch, so many batches are read first; each one that meets known rows starts anew. */
const READ_FIRST_BATCHES = 16

/** A message that fails by itself: deterministic, so it is found by splitting and parked. */
class PoisonedBatch extends Error {
  readonly code: string
  constructor(code: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.code = code
  }
}

export function createAdjudicator(options: AdjudicatorOptions): Adjudicator {
  const recent = new RecentIdentities()
  let readFirstLeft = 0

  function chooseMode(commands: readonly Command[]): ReadMode {
    if (mustReadFirst(commands) || recent.hasAny(commands)) return 'read-first'
    return readFirstLeft > 0 ? 'read-first' : 'insert-first'
  }

  function learn(commands: readonly Command[], judgements: readonly Judgement[], mode: ReadMode): void {
    recent.add(commands)
    const metKnown = judgements.some(({ verdict }) => verdict === 'DUPLICATE' || verdict === 'CONFLICT')
    if (metKnown) readFirstLeft = READ_FIRST_BATCHES
    else if (mode === 'read-first' && readFirstLeft > 0) readFirstLeft--
  }

  /** One batch as one unit: bounded attempts, always under the same identities. */
  async function attempt(batch: Batch): Promise<BatchOutcome> {
    const commands = commandsOf(batch.items)
    let mode = chooseMode(commands)
    let lastError: unknown
    let refusedByKey = 0
    for (let attemptNo = 1; attemptNo <= ATTEMPTS_MAX; attemptNo++) {
      try {
        const outcome = await runBatchTransaction(options, batch, mode)
        if (outcome.kind === 'committed') learn(commands, outcome.judgements, mode)
        return outcome
      } catch (error) {
        const { code, delay, kind } = afterFailure(error, mode)
        lastError = error
        if (kind === 'duplicate-key' && mode === 'read-first') refusedByKey++
        options.observer?.onRetry?.(code, attemptNo)
        // Doubt about an earlier COMMIT is settled only here, by judging again against what stands (ADJ-3).
        mode = 'read-first'
        if (delay && attemptNo < ATTEMPTS_MAX) await options.sleep(jitteredMs(attemptNo, options.random))
      }
    }
    const { code } = classifyFault(lastError)
    // Every look was refused by a key that it did not see: the rows contradict each other. Anything else among the attempts is a fault.
    if (refusedByKey >= ATTEMPTS_MAX - 1) throw new PoisonedBatch('UNIQUE_KEY_UNRESOLVED', lastError)
    throw new StoreUnavailable(code, `no decision after ${ATTEMPTS_MAX} attempts, the last fault was ${code}`, { cause: lastError })
  }

  /** The whole batch, or its halves down to single messages, so that a bad one is parked and its neighbours go on (ADJ-7, ADJ-10). */
  async function judge(batch: Batch): Promise<BatchOutcome> {
    try {
      return await attempt(batch)
    } catch (error) {
      if (!(error instanceof PoisonedBatch)) throw error
      const [only, ...others] = batch.items
      if (only === undefined) throw new StoreUnavailable(error.code, `an empty batch cannot be stored: ${error.message}`, { cause: error })
      if (others.length === 0) {
        const kept = poisoned(only, error)
        options.observer?.onPoison?.(only, error.code)
        return judge({ ...batch, items: [kept] })
      }
      options.observer?.onSplit?.(batch.items.length, error.code)
      return judgeHalves(batch)
    }
  }

  async function judgeHalves(batch: Batch): Promise<BatchOutcome> {
    const [head, tail] = splitBatch(batch)
    const first = await judge(head)
    if (first.kind !== 'committed' || first.nextOffset !== head.source.nextOffset) return first
    try {
      const second = await judge(tail)
      if (second.kind !== 'committed') return first
      return {
        kind: 'committed',
        judgements: [...first.judgements, ...second.judgements],
        results: [...first.results, ...second.results],
        nextOffset: second.nextOffset,
        more: first.more || second.more,
      }
    } catch (error) {
      // The finished prefix stands and is reported; the caller meets the fault again with the rest.
      if (error instanceof StoreUnavailable) return first
      throw error
    }
  }

  return { judge }
}

/** Each kind of failure has its own branch; none of them ends as "duplicate" (ADJ-4). */
function afterFailure(error: unknown, mode: ReadMode): { kind: FaultKind; code: string; delay: boolean } {
  if (error instanceof JudgementFailed || error instanceof CorruptData || error instanceof PacketTooLarge)
    throw new PoisonedBatch(error.code, error)
  if (error instanceof StoreMisconfigured) throw new StoreUnavailable(error.code, error.message, { cause: error })
  const { kind, code } = classifyFault(error)
  switch (kind) {
    case 'duplicate-key':
      return { kind, code, delay: mode === 'read-first' }
    case 'transient':
      return { kind, code, delay: true }
    case 'data':
      throw new PoisonedBatch(`SQL_${code}`, error)
    case 'unavailable':
      throw new StoreUnavailable(code, `the database cannot judge now: ${error instanceof Error ? error.message : code}`, { cause: error })
  }
}

/** A message that failed to be judged becomes one that is only kept (ADJ-10). */
function poisoned(item: BatchItem, error: PoisonedBatch): BatchItem {
  if (item.kind === 'refused')
    throw new StoreUnavailable(error.code, `a parked message cannot be stored: ${error.message}`, { cause: error })
  const { record, tenantId } = item.command
  return { kind: 'refused', parked: { record, tenantId, reason: error.code, detail: error.message, retryable: false } }
}

function jitteredMs(attemptNo: number, random: () => number): number {
  return random() * Math.min(DELAY_MAX_MS, DELAY_BASE_MS * 2 ** attemptNo)
}
