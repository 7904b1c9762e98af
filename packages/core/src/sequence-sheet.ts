import type { Command } from './command.ts'
import { Bug } from './errors.ts'
import type { AggregateId } from './identity.ts'
import { deferredKeyOf, stepKey } from './keys.ts'
import type { LedgerState } from './state.ts'
import type { DeferralWrite, SequenceWrite, StepWrite } from './writes.ts'

/** A command that is ahead of its business key: of this batch, at `index`, or of an earlier one. */
export interface Waiting {
  readonly command: Command
  readonly version: bigint
  /** Its place in the batch, or null where its row stands in the database. */
  readonly index: number | null
  readonly eventDay: number
}

interface Head {
  readonly created: boolean
  readonly versionBefore: bigint
  version: bigint
  readonly owner: Command
}

/** The working copy of the batch's sequences: how far each business key came, and who waits (ORD-1, ORD-2). */
export class SequenceSheet {
  readonly steps: StepWrite[] = []
  readonly #state: LedgerState
  readonly #heads = new Map<AggregateId, Head>()
  readonly #taken = new Map<string, string>()
  /** Descending, so that the next one stands at the end. */
  readonly #waiting = new Map<AggregateId, Waiting[]>()

  constructor(state: LedgerState) {
    this.#state = state
  }

  headOf(aggregateId: AggregateId): bigint {
    return this.#heads.get(aggregateId)?.version ?? this.#state.sequences.get(aggregateId) ?? 0n
  }

  /** The reference of the command that took a version, or undefined where the sequence began above it. */
  takenBy(aggregateId: AggregateId, version: bigint): string | undefined {
    const key = stepKey(aggregateId, version)
    return this.#taken.get(key) ?? this.#state.steps.get(key)
  }

  /** The command takes the next version of its business key. */
  take(command: Command, version: bigint, reference: string): void {
    if (version !== this.headOf(command.aggregateId) + 1n) throw new Bug(`version ${version} does not follow the head`)
    this.#touch(command).version = version
    this.#taken.set(stepKey(command.aggregateId, version), reference)
    this.steps.push({ command, version })
  }

  wait(waiting: Waiting): void {
    this.#touch(waiting.command)
    insertDescending(this.#waitingOf(waiting.command.aggregateId), waiting)
  }

  /** Takes out the next command that waits and whose turn it is, the lowest version first; undefined where there is none. */
  nextDue(aggregateId: AggregateId): Waiting | undefined {
    const waiting = this.#waitingOf(aggregateId)
    const next = waiting.at(-1)
    if (next === undefined || next.version > this.headOf(aggregateId) + 1n) return undefined
    waiting.pop()
    return next
  }

  /** Heads that moved, and those of keys whose first command has to wait. */
  headWrites(): SequenceWrite[] {
    const rows: SequenceWrite[] = []
    for (const [aggregateId, { created, versionBefore, version, owner }] of this.#heads) {
      if (!created && version === versionBefore) continue
      const { tenantId, businessKey, bucket } = owner
      rows.push({ aggregateId, tenantId, businessKey, bucket, created, versionBefore, version })
    }
    return rows
  }

  /** Commands of this batch that still wait and have no row yet, as they came. */
  deferralWrites(): DeferralWrite[] {
    const rows: (DeferralWrite & { readonly index: number })[] = []
    for (const waiting of this.#waiting.values())
      for (const { command, version, eventDay, index } of waiting)
        if (index !== null && !this.#state.deferredKeys.has(deferredKeyOf(command))) rows.push({ command, version, eventDay, index })
    const written = new Set<string>()
    return rows
      .sort((left, right) => left.index - right.index)
      .flatMap(({ command, version, eventDay }) => {
        const key = deferredKeyOf(command)
        if (written.has(key)) return []
        written.add(key)
        return [{ command, version, eventDay }]
      })
  }

  #touch(command: Command): Head {
    const { aggregateId } = command
    const known = this.#heads.get(aggregateId)
    if (known !== undefined) return known
    const stored = this.#state.sequences.get(aggregateId)
    const head = { created: stored === undefined, versionBefore: stored ?? 0n, version: stored ?? 0n, owner: command }
    this.#heads.set(aggregateId, head)
    return head
  }

  /** Begins with those that waited in the database. */
  #waitingOf(aggregateId: AggregateId): Waiting[] {
    const known = this.#waiting.get(aggregateId)
    if (known !== undefined) return known
    const waiting: Waiting[] = []
    for (const { command, version } of this.#state.deferred.get(aggregateId) ?? [])
      insertDescending(waiting, { command, version, index: null, eventDay: 0 })
    this.#waiting.set(aggregateId, waiting)
    return waiting
  }
}

/** Of one version, the one that came first is nearer to the end. */
function insertDescending(waiting: Waiting[], added: Waiting): void {
  let low = 0
  let high = waiting.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((waiting[middle]?.version ?? 0n) > added.version) low = middle + 1
    else high = middle
  }
  waiting.splice(low, 0, added)
}
