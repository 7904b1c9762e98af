import { type Answer, type Decision, encodeResult, type Judgement } from '@onceledger/core'
import type { BatchItem, Published } from './batch.ts'
import type { OutboxRow } from './sql/outbox.ts'

interface Placed extends Published {
  readonly causeOffset: bigint
  readonly phase: 0 | 1
}

export interface BatchResults {
  readonly results: readonly Published[]
  readonly outbox: readonly OutboxRow[]
}

/**
 * The results of a batch in the order in which they were reached. `judgements` are those of all items, `decisions` those of the commands among
 * them. Messages behind `appliedOffset` are read again: their results were published long ago, and what they bring about now stands before
 * the next message.
 */
export function resultsOf(
  items: readonly BatchItem[],
  judgements: readonly Judgement[],
  decisions: readonly Decision[],
  appliedOffset: bigint,
): BatchResults {
  const placed: Placed[] = []
  let at = 0
  let commandNo = -1
  for (const [i, item] of items.entries()) {
    if (item.kind === 'refused') {
      const { record } = item.parked
      const judgement = judgements[i]
      if (judgement !== undefined && record.position.offset >= appliedOffset)
        placed.push({ record, command: null, judgement, inOutbox: false, causeOffset: record.position.offset, phase: 1 })
      continue
    }
    commandNo++
    const causeOffset = item.command.record.position.offset
    for (let next = decisions[at]; next?.cause === commandNo; next = decisions[++at]) add(placed, next, causeOffset, appliedOffset)
  }
  return { results: placed, outbox: outboxOf(placed) }
}

/** Results of commands that waited and got their turn without a message: they stand before that of the next one. */
export function sweptResults(answers: readonly Answer[], appliedOffset: bigint): BatchResults {
  const placed = answers.map((answer): Placed => ({ ...answer, inOutbox: true, causeOffset: appliedOffset, phase: 0 }))
  return { results: placed, outbox: outboxOf(placed) }
}

function add(placed: Placed[], { command, judgement, drained }: Decision, causeOffset: bigint, appliedOffset: bigint): void {
  const again = causeOffset < appliedOffset
  if (again && !drained) return
  const place = again ? { causeOffset: appliedOffset, phase: 0 as const } : { causeOffset, phase: 1 as const }
  placed.push({ record: command.record, command, judgement, inOutbox: drained, ...place })
}

function outboxOf(placed: readonly Placed[]): OutboxRow[] {
  return placed
    .filter(({ inOutbox }) => inOutbox)
    .map((answer) => {
      const { key, value } = encodeResult(answer)
      const { causeOffset, phase, record } = answer
      return {
        sourceOffset: record.position.offset,
        causeOffset,
        phase,
        key: key === null ? null : Buffer.from(key),
        value: Buffer.from(value),
      }
    })
}
