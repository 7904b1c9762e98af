import { openTopicReader, type TopicMessage } from '@onceledger/command-log'
import { resultsTopicOf } from '@onceledger/core'
import { TimedOut, waitFor } from '@onceledger/runtime'
import { z } from 'zod'
import { CommandFailed, EXIT } from './exit.ts'
import type { Ledger } from './ledger.ts'

/** A command to be sent, by what its result will say of it. */
export interface AwaitedCommand {
  readonly line: number
  readonly key: string
  /** Contract and version, such as `deposit.v1`. */
  readonly type: string
  readonly eventId: string
  readonly operationId: string | null
}

interface Answer {
  readonly verdict: string
  readonly reason: string | null
  /** What the first commit decided, which every duplicate is answered with (IDN-7). */
  readonly firstVerdict: string | null
  readonly balanceAfter: string | null
}

export type AnsweredCommand = AwaitedCommand & Answer

/** Null where no answer came in time. */
export type CommandAnswer = AwaitedCommand & { readonly [name in keyof Answer]: Answer[name] | null }

/** Lines whose answers are kept in memory at once. */
export const AWAITED_MAX = 10_000
const POLL_MS = 20

const RESULT = z.object({
  data: z.object({
    verdict: z.string(),
    reason: z.string().nullable(),
    command: z.object({
      type: z.string().nullable(),
      id: z.string().nullable(),
      operationid: z.string().nullable(),
      partition: z.number().int(),
      offset: z.string(),
    }),
    first: z.object({ verdict: z.string(), reason: z.string().nullable(), balanceAfter: z.string() }).nullable(),
  }),
})

interface Waiting {
  readonly command: AwaitedCommand
  /** Where the command came to stand in its log, as its first answer says. */
  place: string | null
  answer: Answer | null
  /** The last answer to the same command at another place, come while this one waits. */
  elsewhere: Answer | null
}

/**
 * Matches results to the commands of a submission. Results are told at least once, and the same command may have been sent before: the first
 * place whose answer arrives is ours, and of its answers the last counts, since a command that has to wait is answered twice. One that waits
 * already is kept once, so its last answer may only be told for the place where it was first: that counts where nothing else comes.
 */
export class AwaitedResults {
  readonly #byIdentity = new Map<string, Waiting[]>()
  readonly #commands: Waiting[] = []
  readonly #onAnswer: (answered: AnsweredCommand) => void
  #open = 0

  /** @param onAnswer told of every answer as it comes, the interim one of a command that waits too. */
  constructor(onAnswer: (answered: AnsweredCommand) => void = () => {}) {
    this.#onAnswer = onAnswer
  }

  /** Before the command is sent, so that no result is met by nobody. */
  add(command: AwaitedCommand): void {
    const waiting: Waiting = { command, place: null, answer: null, elsewhere: null }
    const identity = identityOf(command)
    const known = this.#byIdentity.get(identity)
    if (known === undefined) this.#byIdentity.set(identity, [waiting])
    else known.push(waiting)
    this.#commands.push(waiting)
    this.#open++
  }

  take({ key, value }: Pick<TopicMessage, 'key' | 'value'>): void {
    const parsed = RESULT.safeParse(parseJson(value))
    if (!parsed.success) return
    const { verdict, reason, command, first } = parsed.data.data
    const { type, id, operationid, partition, offset } = command
    if (key === null || type === null || id === null) return
    const same = this.#byIdentity.get(identityOf({ key, type, eventId: id, operationId: operationid })) ?? []
    const place = `${partition}-${offset}`
    const answer = {
      verdict,
      reason: reason ?? first?.reason ?? null,
      firstVerdict: first?.verdict ?? null,
      balanceAfter: first?.balanceAfter ?? null,
    }
    const own = same.find((each) => each.place === place) ?? same.find((each) => each.place === null)
    if (own !== undefined) this.#settle(own, place, answer)
    if (!isFinal(answer)) return
    for (const other of same) if (other !== own && other.answer?.verdict === 'DEFERRED') other.elsewhere = answer
  }

  #settle(waiting: Waiting, place: string, answer: Answer): void {
    if (isFinal(waiting.answer) || waiting.answer?.verdict === answer.verdict) return
    waiting.place = place
    waiting.answer = answer
    if (isFinal(answer)) this.#open--
    this.#onAnswer({ ...waiting.command, ...answer })
  }

  /** No more is waited for: what was told for another place counts now. */
  expire(): void {
    for (const waiting of this.#commands)
      if (waiting.elsewhere !== null && waiting.place !== null) this.#settle(waiting, waiting.place, waiting.elsewhere)
  }

  /** Whether every command has its last answer. */
  get isSettled(): boolean {
    return this.#open === 0
  }

  answers(): CommandAnswer[] {
    return this.#commands.map(({ command, answer }) => ({ ...command, ...(answer ?? NO_ANSWER) }))
  }
}

const NO_ANSWER = { verdict: null, reason: null, firstVerdict: null, balanceAfter: null }

function isFinal(answer: Answer | null): boolean {
  return answer !== null && answer.verdict !== 'DEFERRED'
}

function identityOf({ key, type, eventId, operationId }: Omit<AwaitedCommand, 'line'>): string {
  return JSON.stringify([key, type, eventId, operationId])
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Whatever else somebody put on the topic is no result.
    return null
  }
}

export interface ResultWatch {
  readonly awaited: AwaitedResults
  /** Waits until every command has its answer, or the time is over. */
  settled(timeoutMs: number): Promise<void>
  close(): Promise<void>
}

/** Begins to read results from where their topic ends now, so that nothing of what is sent afterwards is missed. */
export async function watchResults(
  ledger: Ledger,
  commandTopic: string,
  onAnswer: (answered: AnsweredCommand) => void,
): Promise<ResultWatch> {
  const topic = resultsTopicOf(commandTopic)
  const ends = new Map([...(await ledger.admin.topicOffsets(topic))].map(([partition, { high }]) => [partition, high]))
  const awaited = new AwaitedResults(onAnswer)
  const reader = await openTopicReader({
    brokers: ledger.config.kafkaBrokers,
    clientId: 'ledgerctl',
    topic,
    from: ends,
    onMessage: (message) => awaited.take(message),
  })
  return {
    awaited,
    async settled(timeoutMs) {
      try {
        await waitFor(() => awaited.isSettled, { timeoutMs, intervalMs: POLL_MS, what: 'all results' })
      } catch (error) {
        if (!(error instanceof TimedOut)) throw error
        awaited.expire()
      }
    },
    close: () => reader.close(),
  }
}

const DONE = new Set(['APPLIED', 'DUPLICATE'])

/** @throws CommandFailed where a command got no answer in time, or another one than APPLIED or DUPLICATE. */
export function requireDone(answers: readonly CommandAnswer[], timeoutMs: number): void {
  const silent = answers.filter(({ verdict }) => verdict === null).length
  if (silent > 0)
    throw new CommandFailed(
      EXIT.unreachable,
      `${silent} of ${answers.length} commands got no result within ${timeoutMs} ms; they are in the log and will be judged. Submit the same input again to ask: what is judged already has no second effect`,
    )
  const undone = answers.filter(({ verdict }) => !DONE.has(verdict ?? '')).length
  if (undone > 0) throw new CommandFailed(EXIT.notDone, `${undone} of ${answers.length} commands are neither APPLIED nor DUPLICATE`)
}
