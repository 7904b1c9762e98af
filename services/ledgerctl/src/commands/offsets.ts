import { resetOffset } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import type { Output } from '../output.ts'

export interface ResetOptions {
  readonly partition: number
  readonly to: bigint
  readonly yes: boolean
}

/** An operator's word that a partition goes on elsewhere. */
export async function resetOffsetCommand(ledger: Ledger, output: Output, { partition, to, yes }: ResetOptions): Promise<void> {
  const { topic, bucketCount } = await ledger.foundation()
  if (partition >= bucketCount)
    throw new CommandFailed(EXIT.usage, `there is no partition ${partition} of ${topic}; there are ${bucketCount}, counted from 0`)
  const { shard, database } = await ledger.shardOf(partition)
  await requireInLog(ledger, topic, partition, to)
  if (!yes)
    throw new CommandFailed(
      EXIT.usage,
      `this makes partition ${partition} of ${topic} go on at offset ${to}. Messages before it are never judged, unless they are sent again. Say --yes if that is meant`,
    )
  if (!(await resetOffset(database, topic, partition, to, BigInt(Date.now()) * 1000n)))
    throw new CommandFailed(
      EXIT.finding,
      `nothing of partition ${partition} was ever applied by shard ${shard}, so it has no position to move: it begins with its log`,
    )
  output.result({ topic, partition, shard, next_offset: to }, () => [
    `partition ${partition} of ${topic} goes on at offset ${to}`,
    `start the processes of shard ${shard} again, one after the other, if the partition was broken`,
  ])
}

/** A position outside of the log would only break the partition again. */
async function requireInLog(ledger: Ledger, topic: string, partition: number, to: bigint): Promise<void> {
  const bounds = (await ledger.admin.topicOffsets(topic)).get(partition)
  if (bounds !== undefined && to >= bounds.low && to <= bounds.high) return
  const log = bounds === undefined ? 'does not exist' : `holds the offsets from ${bounds.low} to its end at ${bounds.high}`
  throw new CommandFailed(EXIT.usage, `offset ${to} is not in the log: partition ${partition} of ${topic} ${log}`)
}
