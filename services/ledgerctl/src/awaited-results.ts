import { openTopicReader, type TopicMessage, type TopicReader } from '@onceledger/command-log'
import { resultsTopicOf } from '@onceledger/core'
import { TimedOut, waitFor } from '@onceledger/runtime'
import { z } from 'zod'
import { CommandFailed, EXIT } from './exit.ts'
import type { Ledger } from './ledger.ts'

/** A sent command, by what its result will say of it. */
export interface AwaitedCommand {
  readonly line: number
  readonly key: string
  readonly eventId: string
  readonly operationId: string | null
}

export interface CommandAnswer extends AwaitedCommand {
  /** Null where none came in time. */
  readonly verdict: string | null
  readonly reason: string | null
  readonly balanceAfter: string | null
}

/** Lines whose answers are kept in memory at once. */
export const AWAITED_MAX = 10_000
const POLL_MS = 20

const RESULT = z.object({
  id: z.string(),
  data: z.object({
    verdict: z.string(),
    reason: z.string().nullable(),
    command: z.object({ id: z.string().nullable(), operationid: z.string().nullable() }),
    first: z.object({ balanceAfter: z.string() }).nullable(),
  }),
})

interface Waiting extends AwaitedCommand {
  answer: { readonly verdict: string; readonly reason: string | null; readonly balanceAfter: string | null } | null
}

/** Matches results to the commands that a submission sent. A command that has to wait is answered twice: the later answer counts. */
export class AwaitedResults {
  readonly #byIdentity = new Map<string, Waiting[]>()
  readonly #commands: Waiting[] = []
  /** Results are told at least once. */
  readonly #seen = new Set<string>()
  /** Those that came before their command was known here: sending and reading go on side by side. */
  readonly #early: TopicMessage[] = []
  #isComplete = false

  add(command: AwaitedCommand): void {
    const waiting = { ...command, answer: null }
    this.#commands.push(waiting)
    const identity = identityOf(command.key, command.eventId, command.operationId)
    const known = this.#byIdentity.get(identity)
    if (known === undefined) this.#byIdentity.set(identity, [waiting])
    else known.push(waiting)
  }

  /** All commands were sent: from now on answers are matched. */
  complete(): void {
    this.#isComplete = true
    for (const message of this.#early.splice(0)) this.take(message)
  }

  take(message: TopicMessage): void {
    if (!this.#isComplete) {
      this.#early.push(message)
      return
    }
    const parsed = RESULT.safeParse(parseJson(message.value))
    if (!parsed.success || this.#seen.has(parsed.data.id)) return
    const { id, data } = parsed.data
    const waiting = this.#byIdentity.get(identityOf(message.key ?? '', data.command.id ?? '', data.command.operationid))
    const next = waiting?.find(({ answer }) => answer === null || answer.verdict === 'DEFERRED')
    if (next === undefined) return
    this.#seen.add(id)
    next.answer = { verdict: data.verdict, reason: data.reason, balanceAfter: data.first?.balanceAfter ?? null }
  }

  /** Whether every command has its last answer. */
  get isSettled(): boolean {
    return this.#isComplete && this.#commands.every(({ answer }) => answer !== null && answer.verdict !== 'DEFERRED')
  }

  answers(): CommandAnswer[] {
    return this.#commands.map(({ answer, ...command }) => ({
      ...command,
      verdict: answer?.verdict ?? null,
      reason: answer?.reason ?? null,
      balanceAfter: answer?.balanceAfter ?? null,
    }))
  }
}

function identityOf(key: string, eventId: string, operationId: string | null): string {
  return JSON.stringify([key, eventId, operationId])
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
export async function watchResults(ledger: Ledger, commandTopic: string): Promise<ResultWatch> {
  const topic = resultsTopicOf(commandTopic)
  const ends = new Map([...(await ledger.admin.topicOffsets(topic))].map(([partition, { high }]) => [partition, high]))
  const awaited = new AwaitedResults()
  const reader: TopicReader = await openTopicReader({
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
