import type { Command } from './command.ts'
import type { ContractRegistry } from './contract.ts'
import type { AggregateId } from './identity.ts'
import { DEFERRED, eventDayOf, judge, type JudgeContext } from './judge.ts'
import { Sheet } from './sheet.ts'
import type { LedgerState } from './state.ts'
import type { Judgement } from './verdict.ts'
import type { BatchWrites } from './writes.ts'

export interface AdjudicationContext {
  /** Microseconds since 1970, UTC: the time that results carry. */
  readonly nowUs: bigint
  readonly registry: ContractRegistry
}

/** One verdict, as it was reached. */
export interface Decision {
  readonly command: Command
  readonly judgement: Judgement
  /** Place in the batch of the message whose judging brought it about; -1 where none did. */
  readonly cause: number
  /** The command had waited for its predecessor, in this batch or in the database. */
  readonly drained: boolean
}

export interface Adjudication {
  /** One per command, in the order of the commands, as it stands at the end of the batch. */
  readonly judgements: readonly Judgement[]
  /** The same and those of commands that waited in the database, in the order in which they were reached. */
  readonly decisions: readonly Decision[]
  readonly writes: BatchWrites
}

/**
 * Judges a batch: pure, one command after the other, each seeing what those before it decided. Duplicates inside the batch are
 * judged like any others. After a command of a sequence those that waited for it are judged at once (ORD-2); without commands, all
 * whose turn it is. The caller writes all rows in one transaction or none (ADJ-1).
 * @throws CorruptData when a stored row contradicts its key; nothing of the batch may then be written.
 */
export function adjudicate(state: LedgerState, commands: readonly Command[], context: AdjudicationContext): Adjudication {
  const run = new Run(state, context)
  for (const [index, command] of commands.entries()) run.judge(command, index)
  if (commands.length === 0) for (const aggregateId of state.deferred.keys()) run.drain(aggregateId, -1)
  return run.finish()
}

/** A command that waits at the end of its batch keeps this place among the decisions; one that got its turn loses it to the later one. */
interface Entry extends Decision {
  superseded: boolean
}

class Run {
  readonly #sheet: Sheet
  readonly #context: JudgeContext
  readonly #judgements: Judgement[] = []
  readonly #entries: Entry[] = []
  readonly #deferredEntries = new Map<number, Entry>()

  constructor(state: LedgerState, context: AdjudicationContext) {
    this.#sheet = new Sheet(state)
    this.#context = { ...context, nowMs: Number(context.nowUs / 1000n) }
  }

  judge(command: Command, index: number): void {
    const judgement = judge(this.#sheet, command, this.#context)
    this.#judgements[index] = judgement
    const entry = { command, judgement, cause: index, drained: false, superseded: false }
    this.#entries.push(entry)
    if (command.contract.order !== 'sequence') return
    if (judgement === DEFERRED) {
      this.#deferredEntries.set(index, entry)
      const eventDay = eventDayOf(command, this.#context)
      this.#sheet.sequence.wait({ command, version: command.aggregateVersion ?? 0n, index, eventDay })
    }
    this.drain(command.aggregateId, index)
  }

  /** Judges those whose turn it is, the lowest version first, each of them once. */
  drain(aggregateId: AggregateId, cause: number): void {
    for (let next = this.#sheet.sequence.nextDue(aggregateId); next !== undefined; next = this.#sheet.sequence.nextDue(aggregateId)) {
      const { command, index } = next
      const judgement = judge(this.#sheet, command, this.#context)
      this.#entries.push({ command, judgement, cause, drained: true, superseded: false })
      if (index === null) {
        this.#sheet.writes.drained.push(command)
        continue
      }
      this.#judgements[index] = judgement
      const entry = this.#deferredEntries.get(index)
      if (entry !== undefined) entry.superseded = true
    }
  }

  finish(): Adjudication {
    const { writes, sequence } = this.#sheet
    return {
      judgements: this.#judgements,
      decisions: this.#deferredEntries.size === 0 ? this.#entries : this.#entries.filter(({ superseded }) => !superseded),
      writes: {
        ...writes,
        accounts: this.#sheet.accountWrites(),
        sequences: sequence.headWrites(),
        steps: sequence.steps,
        deferrals: sequence.deferralWrites(),
      },
    }
  }
}
