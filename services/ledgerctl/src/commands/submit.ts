import { CommandLogError, type CommandProducer, createCommandProducer, type OutgoingRecord } from '@onceledger/command-log'
import {
  AWAITED_MAX,
  type AnsweredCommand,
  type AwaitedResults,
  type CommandAnswer,
  requireDone,
  watchResults,
} from '../awaited-results.ts'
import { CommandFailed, EXIT } from '../exit.ts'
import { type CheckOptions, readCommands } from '../input/commands.ts'
import { openSource, type Source, spool } from '../input/source.ts'
import type { Ledger } from '../ledger.ts'
import type { Output } from '../output.ts'
import type { Progress } from '../progress.ts'
import { RefusedLines } from './refused-lines.ts'

export interface SubmitOptions {
  /** A path, or `-` for standard input. */
  readonly file: string
  /** Send the good lines although others are refused. */
  readonly keepGoing: boolean
  /** Wait so long for the results and show them; null does not wait. */
  readonly waitMs: number | null
  readonly stdin: AsyncIterable<Buffer>
  readonly progress: Progress
}

const CHUNK = 1_000

/**
 * Sends a file of commands, a thousand at a time, so its length does not matter. Unless it is told to keep going, it reads the file twice: all
 * lines are checked before the first is sent. It does so too when it has to wait: too many to be waited for are found out before any is sent.
 */
export async function submitCommand(ledger: Ledger, output: Output, options: SubmitOptions): Promise<void> {
  const { topic, bucketCount } = await ledger.foundation()
  await requireTopic(ledger, topic, bucketCount)
  const check = { registry: ledger.registry, bucketCount }
  const given = await openSource(options.file, options.stdin)
  const opened = [given]
  try {
    const isReadTwice = !options.keepGoing || options.waitMs !== null
    if (isReadTwice && !given.repeatable) opened.push(await spool(given))
    const source = opened.at(-1) ?? given
    if (isReadTwice) await checkAll(source, check, output, options)
    await sendAll(ledger, output, source, { topic, check, ...options })
  } finally {
    options.progress.end()
    await Promise.allSettled(opened.map((each) => each.close()))
  }
}

/** A topic of another size would put keys where nobody judges them (RTE-1). */
async function requireTopic(ledger: Ledger, topic: string, bucketCount: number): Promise<void> {
  const { size } = await ledger.admin.topicOffsets(topic)
  if (size === bucketCount) return
  throw new CommandFailed(
    EXIT.usage,
    `topic ${topic} has ${size} partitions, the ledger ${bucketCount} buckets; see docs/runbooks/shard.md`,
  )
}

async function checkAll(source: Source, check: CheckOptions, output: Output, options: SubmitOptions): Promise<void> {
  const { progress, keepGoing, waitMs } = options
  const refused = new RefusedLines(output)
  progress.begin('checking', source.sizeBytes)
  let n = 0
  let commands = 0
  for await (const line of readCommands(source.read(), check)) {
    if (line.kind === 'record') commands++
    else if (!keepGoing) refused.add(line.refused)
    if (waitMs !== null && commands > AWAITED_MAX)
      throw new CommandFailed(
        EXIT.usage,
        `--wait keeps up to ${AWAITED_MAX} commands, nothing sent; split the input, or read the results from their topic`,
      )
    if (++n % CHUNK === 0) progress.update(line.endBytes)
  }
  progress.end()
  if (refused.count === 0) return
  throw new CommandFailed(EXIT.refused, `${refused.count} lines refused, nothing sent; mend them, or send the others with --keep-going`)
}

interface Sending extends SubmitOptions {
  readonly topic: string
  readonly check: CheckOptions
}

async function sendAll(ledger: Ledger, output: Output, source: Source, sending: Sending): Promise<void> {
  const { topic, progress } = sending
  const refused = new RefusedLines(output)
  const producer = createCommandProducer({ brokers: ledger.config.kafkaBrokers, clientId: 'ledgerctl' })
  const sent = new Map<number, number>()
  const watch = sending.waitMs === null ? null : await watchResults(ledger, topic, (answered) => output.line(lineOf(answered)))
  try {
    progress.begin('sending', source.sizeBytes)
    await sendChunks(producer, source, sending, { refused, sent, awaited: watch?.awaited ?? null })
    progress.end()
    await watch?.settled(sending.waitMs ?? 0)
  } finally {
    await Promise.allSettled([producer.close(), watch?.close()])
  }
  const answers = watch?.awaited.answers() ?? null
  await report(ledger, output, topic, sent, refused, answers)
  if (answers !== null) requireDone(answers, sending.waitMs ?? 0)
  if (refused.count > 0) throw new CommandFailed(EXIT.refused, `${refused.count} lines refused; they were not sent`)
}

interface Tally {
  readonly refused: RefusedLines
  /** How many were acknowledged, by partition. */
  readonly sent: Map<number, number>
  readonly awaited: AwaitedResults | null
}

async function sendChunks(producer: CommandProducer, source: Source, { topic, check, keepGoing, progress }: Sending, tally: Tally) {
  let chunk: (OutgoingRecord & { readonly partition: number })[] = []
  let chunkEndBytes = 0
  const send = async (): Promise<void> => {
    await sendChunk(producer, topic, chunk, tally.sent)
    chunk = []
    progress.update(chunkEndBytes)
  }
  for await (const line of readCommands(source.read(), check)) {
    chunkEndBytes = line.endBytes
    if (line.kind === 'record') {
      chunk.push(line.record)
      tally.awaited?.add(line.command)
      if (chunk.length === CHUNK) await send()
    } else if (keepGoing) {
      tally.refused.add(line.refused)
    } else {
      throw new CommandFailed(
        EXIT.refused,
        `the file was changed while it was sent: line ${line.refused.line} is no longer a command (${line.refused.reason}); ${sumOf(tally.sent)} commands before it were sent`,
      )
    }
  }
  await send()
}

async function sendChunk(
  producer: CommandProducer,
  topic: string,
  chunk: readonly (OutgoingRecord & { readonly partition: number })[],
  sent: Map<number, number>,
): Promise<void> {
  if (chunk.length === 0) return
  try {
    await producer.send(topic, chunk)
  } catch (error) {
    if (!(error instanceof CommandLogError)) throw error
    throw new CommandFailed(
      EXIT.unreachable,
      `${error.message}; ${sumOf(sent)} commands were sent before, and perhaps some of the next ${chunk.length}. Submit the same input again: what is judged already has no second effect`,
    )
  }
  for (const { partition } of chunk) sent.set(partition, (sent.get(partition) ?? 0) + 1)
}

function sumOf(sent: ReadonlyMap<number, number>): number {
  return [...sent.values()].reduce((sum, count) => sum + count, 0)
}

async function report(
  ledger: Ledger,
  output: Output,
  topic: string,
  sent: ReadonlyMap<number, number>,
  refused: RefusedLines,
  answers: readonly CommandAnswer[] | null,
) {
  const bounds = await ledger.admin.topicOffsets(topic)
  const partitions = [...sent]
    .sort(([left], [right]) => left - right)
    .map(([partition, count]) => ({ partition, sent: count, end_offset: bounds.get(partition)?.high ?? null }))
  const total = sumOf(sent)
  const result = {
    submitted: total,
    refused: refused.count,
    refused_lines: refused.first,
    topic,
    partitions,
    ...(answers === null ? {} : { results: answers }),
  }
  output.result(result, () => [
    ...(answers ?? []).filter(({ verdict }) => verdict === null).map(lineOf),
    `${total} commands sent to ${topic}${refused.count > 0 ? `, ${refused.count} lines refused` : ''}${summaryOf(answers)}`,
  ])
}

function lineOf(answered: AnsweredCommand | CommandAnswer): string {
  const { line, key, type, operationId, eventId, verdict, reason, firstVerdict, balanceAfter } = answered
  const said = verdict === 'DUPLICATE' ? `DUPLICATE of ${firstVerdict}` : (verdict ?? UNANSWERED)
  const why = reason === null ? '' : `  ${reason}`
  const balance = balanceAfter === null || firstVerdict !== 'APPLIED' ? '' : `  balance after ${balanceAfter}`
  return `line ${line}  ${key}  ${type} ${operationId ?? `event ${eventId}`}  ${said}${why}${balance}`
}

const UNANSWERED = 'no answer yet'

function summaryOf(answers: readonly CommandAnswer[] | null): string {
  if (answers === null) return ''
  const counts = new Map<string, number>()
  for (const { verdict } of answers) counts.set(verdict ?? UNANSWERED, (counts.get(verdict ?? UNANSWERED) ?? 0) + 1)
  return `: ${[...counts].map(([verdict, count]) => `${count} ${verdict}`).join(', ')}`
}
