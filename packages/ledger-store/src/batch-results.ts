import { type Answer, type Decision, encodeResult, type Judgement } from '@onceledger/core'
import type { BatchItem, Published } from './batch.ts'
import type { OutboxRow } from './sql/outbox.ts'

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
  const results: Published[] = []
  const outbox: OutboxRow[] = []
  let at = 0
  let commandNo = -1
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (item?.kind === 'refused') {
      const { record } = item.parked
      const judgement = judgements[i]
      if (judgement !== undefined && record.position.offset >= appliedOffset)
        results.push({ record, command: null, judgement, inOutbox: false })
    } else if (item?.kind === 'command') {
      commandNo++
      const { offset } = item.command.record.position
      const again = offset < appliedOffset
      for (let next = decisions[at]; next?.cause === commandNo; next = decisions[++at]) {
        const { command, judgement, drained } = next
        if (again && !drained) continue
        const answer = { record: command.record, command, judgement, inOutbox: drained }
        results.push(answer)
        if (drained) outbox.push(outboxRow(answer, again ? appliedOffset : offset, again ? 0 : 1))
      }
    }
  }
  return { results, outbox }
}

/** Results of commands that waited and got their turn without a message: they stand before that of the next one. */
export function sweptResults(answers: readonly Answer[], appliedOffset: bigint): BatchResults {
  return {
    results: answers.map((answer) => ({ ...answer, inOutbox: true })),
    outbox: answers.map((answer) => outboxRow(answer, appliedOffset, 0)),
  }
}

function outboxRow(answer: Answer, causeOffset: bigint, phase: OutboxRow['phase']): OutboxRow {
  const { key, value } = encodeResult(answer)
  return {
    sourceOffset: answer.record.position.offset,
    causeOffset,
    phase,
    key: key === null ? null : Buffer.from(key),
    value: Buffer.from(value),
  }
}
