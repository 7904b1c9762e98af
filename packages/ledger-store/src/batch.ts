import { type Answer, Bug, type Command, type Judgement, type ParkedWrite, recordDigest, type SourceRecord } from '@onceledger/core'

/** A message of a batch: a command to judge, or one that could not become a command and is parked. */
export type BatchItem = { readonly kind: 'command'; readonly command: Command } | { readonly kind: 'refused'; readonly parked: ParkedWrite }

/** Where in the log a batch was read, and where the log goes on after it. */
export interface BatchSource {
  readonly topic: string
  readonly partition: number
  /** The position that the batch was fetched from; the database must agree (ADJ-8). */
  readonly expectedOffset: bigint
  readonly nextOffset: bigint
  /** Digest of the batch's last record, 64 hex digits. */
  readonly lastDigestHex: string
  /** The caller has just read the log from its first record, because no position was stored; only then may none be stored now. */
  readonly fresh?: boolean
  /** Results that were acknowledged by their topic and are to be remembered as such with this batch. */
  readonly published?: PublishedResults
  /** The caller knowingly reads messages again that lie behind the applied offset: they are judged, the offset never moves back. */
  readonly redelivery?: boolean
}

/** How far a partition's results were acknowledged. */
export interface PublishedResults {
  /** Every result of a message before it. */
  readonly nextOffset: bigint
  /** Messages whose result stood in the outbox and needs to no longer. */
  readonly outbox: readonly bigint[]
}

/** A verdict to be published. */
export interface Published extends Answer {
  /** It has a row in the outbox, since it does not stand at its own message's place. */
  readonly inOutbox: boolean
}

export interface Batch {
  readonly source: BatchSource
  readonly items: readonly BatchItem[]
  /** Buckets whose rows the batch may touch, without duplicates. */
  readonly buckets: readonly number[]
}

/** What became of one attempt, or of the whole batch. */
export type BatchOutcome =
  /**
   * Effects, verdicts and offset stand together, up to `nextOffset`. One judgement for each item before it; the results in the order in which
   * they are to be published. `more`: commands whose turn it is were left waiting for a sweep.
   */
  | {
      readonly kind: 'committed'
      readonly judgements: readonly Judgement[]
      readonly results: readonly Published[]
      readonly nextOffset: bigint
      readonly more: boolean
    }
  /** The batch would park more than the limit allows; nothing was written. */
  | { readonly kind: 'parking-storm'; readonly parked: number }
  /** The database's position is another one; nothing was written. */
  | { readonly kind: 'position'; readonly nextOffset: bigint; readonly lastDigest: Buffer | null }
  /** No position is stored, and the batch does not begin where the log does: nothing was written, or what lies before would be skipped. */
  | { readonly kind: 'no-position' }
  /** A bucket of the batch is not this shard's to judge now; nothing was written (RTE-2). */
  | { readonly kind: 'not-owner'; readonly bucket: number; readonly state: string }

export function commandsOf(items: readonly BatchItem[]): Command[] {
  const commands: Command[] = []
  for (const item of items) if (item.kind === 'command') commands.push(item.command)
  return commands
}

export function recordOf(item: BatchItem): SourceRecord {
  return item.kind === 'command' ? item.command.record : item.parked.record
}

/** Two halves that follow each other in the log. The batch must have at least two items. */
export function splitBatch(batch: Batch): readonly [Batch, Batch] {
  const middle = batch.items.length >> 1
  const head = batch.items.slice(0, middle)
  const last = head.at(-1)
  if (last === undefined) throw new Bug('a batch of one message cannot be split')
  const record = recordOf(last)
  const nextOffset = record.position.offset + 1n
  return [
    { ...batch, items: head, source: { ...batch.source, nextOffset, lastDigestHex: recordDigest(record).toString('hex') } },
    { ...batch, items: batch.items.slice(middle), source: { ...batch.source, expectedOffset: nextOffset } },
  ]
}
