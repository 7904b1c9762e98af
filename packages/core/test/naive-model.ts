import {
  accountKeyOf,
  DAY_MS,
  identityOf,
  intentUnder,
  isRetryable,
  isTooLarge,
  NOTHING_POSTED,
  operationIdentity,
  read,
  timeOfId,
} from './naive-parts.ts'

/**
 * The rules of the ledger in their plainest form: one command at a time, Maps, no batch, no digest, no hash. Written from
 * docs/requirements.md and the table of contracts alone, so that it can be wrong only in another way than the product.
 */

export interface NaiveCommand {
  readonly tenantId: string
  readonly businessKey: string
  readonly bucket: number
  readonly type: NaiveType
  readonly version: number
  readonly eventId: string
  /** Null exactly for `credit`, which is judged by its event. */
  readonly operationId: string | null
  /** Given for `entry` and `limit`. */
  readonly aggregateVersion: bigint | null
  /** Valid for the command's own contract. */
  readonly data: Readonly<Record<string, string>>
}

export type NaiveType = 'deposit' | 'withdraw' | 'collect' | 'pay' | 'credit' | 'open' | 'reverse' | 'entry' | 'limit'

interface NaiveResult {
  readonly verdict: 'APPLIED' | 'REJECTED'
  readonly reason: string | null
  readonly currency: string | null
  readonly amountMinor: bigint
  readonly accountVersion: bigint
  readonly balanceAfterMinor: bigint
  readonly committedAtUs: bigint
}

export interface NaiveAnswer {
  readonly verdict: 'APPLIED' | 'DUPLICATE' | 'CONFLICT' | 'REJECTED' | 'PARKED' | 'DEFERRED' | 'STALE'
  readonly reason: string | null
  readonly first: NaiveResult | null
}

export interface NaiveCounts {
  readonly operations: number
  readonly events: number
  /** Postings that no operation row carries: those of contracts judged by event. */
  readonly postings: number
  readonly reversals: number
  readonly audits: number
  readonly parked: number
}

/** What a command was answered last: one that waits is answered again. */
export interface NaiveReply {
  answer: NaiveAnswer
}

interface Account {
  balance: bigint
  version: bigint
  limit: bigint
  limitVersion: bigint
}

interface Waiting {
  readonly command: NaiveCommand
  readonly version: bigint
  readonly reply: NaiveReply
}

/** What was decided under an identity, with the intent as it then read. */
interface Decided {
  readonly version: number
  readonly intent: string
  readonly result: NaiveResult
}

interface Posted {
  readonly currency: string
  readonly amount: bigint
  readonly accountVersion: bigint
  readonly balance: bigint
}

const NEW_ACCOUNT: Account = { balance: 0n, version: 0n, limit: 0n, limitVersion: 0n }

export class NaiveLedger {
  readonly #operations = new Map<string, Decided>()
  /** Every event by consumer, id and account; what it stood for. */
  readonly #events = new Map<string, string | null>()
  readonly #credits = new Map<string, Decided>()
  readonly #accounts = new Map<string, Account>()
  readonly #reversed = new Set<string>()
  /** Last version of each business key, and who waits, in the order of arrival. */
  readonly #heads = new Map<string, bigint>()
  #waiting: Waiting[] = []
  /** Whose a tenant-wide identity is, with the intent that claimed it. */
  readonly #claims = new Map<string, string>()
  #postings = 0
  #audits = 0
  #parked = 0

  /** Judges one command, and then those that waited for it. `nowUs`: microseconds since 1970. */
  submit(command: NaiveCommand, nowUs: bigint): NaiveReply {
    const reply = { answer: this.#judge(command, nowUs) }
    if (command.type !== 'entry') return reply
    const version = command.aggregateVersion ?? 0n
    if (reply.answer.verdict === 'DEFERRED') this.#waiting.push({ command, version, reply })
    for (let due = this.#nextDue(command); due !== undefined; due = this.#nextDue(command)) {
      const next = due
      this.#waiting = this.#waiting.filter((each) => each !== next)
      next.reply.answer = this.#judge(next.command, nowUs)
    }
    return reply
  }

  /** Commands that wait. */
  waiting(): number {
    return this.#waiting.length
  }

  /** Between batches: of a message that waits, its repeats are not kept. */
  forgetRepeats(): void {
    const kept = new Set<string>()
    this.#waiting = this.#waiting.filter(({ command: { tenantId, businessKey, eventId, operationId, data }, version }) => {
      const name = JSON.stringify([tenantId, businessKey, eventId, operationId, data['amount'], data['currency'], String(version)])
      const first = !kept.has(name)
      kept.add(name)
      return first
    })
  }

  /** Lowest version first; of one version, the first that came. */
  #nextDue({ tenantId, businessKey }: NaiveCommand): Waiting | undefined {
    const head = this.#heads.get(`${tenantId}/${businessKey}`) ?? 0n
    return this.#waiting
      .filter(({ command, version }) => command.tenantId === tenantId && command.businessKey === businessKey && version <= head + 1n)
      .reduce<Waiting | undefined>((first, each) => (first === undefined || each.version < first.version ? each : first), undefined)
  }

  #judge(command: NaiveCommand, nowUs: bigint): NaiveAnswer {
    const time = timeOfId(command.eventId)
    if (time !== null && time > Number(nowUs / 1000n) + DAY_MS) return this.#park('EVENT_IN_FUTURE')
    const identity = identityOf(command)
    const byEvent = command.operationId === null
    const decided = byEvent ? this.#credits.get(identity) : this.#operations.get(identity)
    if (decided === undefined) return this.#unknown(command, identity, nowUs)

    const intent = intentUnder(command, decided.version)
    if (intent === null) return this.#park('DIGEST_NOT_COMPUTABLE')
    if (intent !== decided.intent) return this.#conflict(command, 'OTHER_INTENT')
    if (!byEvent) this.#noteEvent(command)
    return { verdict: 'DUPLICATE', reason: decided.result.reason, first: decided.result }
  }

  #conflict(command: NaiveCommand, reason: string): NaiveAnswer {
    if (command.operationId !== null) this.#noteEvent(command)
    this.#audits++
    return { verdict: 'CONFLICT', reason, first: null }
  }

  /** An identity without a stored result: is it another key's, and has its turn come? */
  #unknown(command: NaiveCommand, identity: string, nowUs: bigint): NaiveAnswer {
    if (command.type === 'pay') {
      const claim = JSON.stringify([command.businessKey, intentUnder(command, command.version)])
      const name = JSON.stringify([command.tenantId, command.operationId])
      const claimed = this.#claims.get(name) ?? claim
      this.#claims.set(name, claimed)
      if (claimed !== claim) return this.#conflict(command, 'OTHER_INTENT')
    }
    if (command.type === 'limit' && this.#isOldLimit(command)) {
      this.#noteEvent(command)
      return { verdict: 'STALE', reason: 'BEHIND_SNAPSHOT', first: null }
    }
    if (command.type !== 'entry') return this.#first(command, identity, nowUs)
    const key = `${command.tenantId}/${command.businessKey}`
    const head = this.#heads.get(key) ?? 0n
    const version = command.aggregateVersion ?? 0n
    if (version > head + 1n) return { verdict: 'DEFERRED', reason: 'AHEAD_OF_SEQUENCE', first: null }
    if (version <= head) return this.#conflict(command, 'VERSION_TAKEN')
    const answer = this.#first(command, identity, nowUs)
    if (answer.verdict !== 'PARKED') this.#heads.set(key, version)
    return answer
  }

  #isOldLimit({ tenantId, businessKey, data, aggregateVersion }: NaiveCommand): boolean {
    const account = this.#accounts.get(accountKeyOf(tenantId, businessKey, read(data, 'currency')))
    return account !== undefined && (aggregateVersion ?? 0n) <= account.limitVersion
  }

  /** Every account's balance, the external ones' too, by `tenant/businessKey/currency`. */
  balances(): Map<string, bigint> {
    return new Map([...this.#accounts].map(([key, { balance }]) => [key, balance]))
  }

  versions(): Map<string, bigint> {
    return new Map([...this.#accounts].map(([key, { version }]) => [key, version]))
  }

  counts(): NaiveCounts {
    return {
      operations: this.#operations.size,
      events: this.#events.size,
      postings: this.#postings,
      reversals: this.#reversed.size,
      audits: this.#audits,
      parked: this.#parked,
    }
  }

  #first(command: NaiveCommand, identity: string, nowUs: bigint): NaiveAnswer {
    const outcome = this.#effect(command)
    if (typeof outcome === 'string' && isRetryable(command.type, outcome)) return this.#park(outcome)
    const result: NaiveResult =
      typeof outcome === 'string'
        ? { ...NOTHING_POSTED, verdict: 'REJECTED', reason: outcome, committedAtUs: nowUs }
        : {
            verdict: 'APPLIED',
            reason: null,
            currency: outcome.currency,
            amountMinor: outcome.amount,
            accountVersion: outcome.accountVersion,
            balanceAfterMinor: outcome.balance,
            committedAtUs: nowUs,
          }
    const decided = { version: command.version, intent: intentUnder(command, command.version) ?? '', result }
    if (command.operationId === null) {
      this.#credits.set(identity, decided)
      if (result.verdict === 'APPLIED') this.#postings++
    } else {
      this.#operations.set(identity, decided)
    }
    this.#noteEvent(command)
    return { verdict: result.verdict, reason: result.reason, first: result }
  }

  #noteEvent(command: NaiveCommand): void {
    const consumer = command.type === 'credit' ? 'credit' : 'ledger'
    const key = JSON.stringify([consumer, command.tenantId, command.businessKey, command.eventId])
    const standsFor = command.operationId === null ? null : JSON.stringify([command.type, command.operationId])
    const known = this.#events.get(key)
    if (known === undefined) this.#events.set(key, standsFor)
    else if (known !== standsFor) this.#audits++
  }

  /** @returns what was posted, or the reason of the refusal, and then nothing has changed. */
  #effect(command: NaiveCommand): Posted | string {
    const { data } = command
    const currency = read(data, 'currency')
    switch (command.type) {
      case 'deposit':
        return this.#post(command, currency, BigInt(read(data, 'amount')), true)
      case 'credit':
        return this.#post(command, currency, BigInt(read(data, 'amount')), false)
      case 'entry':
        return this.#post(command, currency, BigInt(read(data, 'amount')), false)
      case 'limit':
        return this.#setLimit(command, currency)
      case 'withdraw':
      case 'pay':
      case 'collect':
        return this.#post(command, currency, -BigInt(read(data, 'amount')), false)
      case 'open': {
        const key = accountKeyOf(command.tenantId, command.businessKey, currency)
        if (this.#accounts.has(key)) return 'ACCOUNT_EXISTS'
        this.#accounts.set(key, { balance: 0n, version: 0n, limit: BigInt(read(data, 'overdraftLimit')), limitVersion: 0n })
        return { currency, amount: 0n, accountVersion: 0n, balance: 0n }
      }
      case 'reverse':
        return this.#reverse(command, currency)
    }
  }

  #setLimit({ tenantId, businessKey, data, aggregateVersion }: NaiveCommand, currency: string): Posted | string {
    const account = this.#accounts.get(accountKeyOf(tenantId, businessKey, currency))
    if (account === undefined) return 'ACCOUNT_NOT_FOUND'
    account.limit = BigInt(read(data, 'overdraftLimit'))
    account.limitVersion = aggregateVersion ?? 0n
    return { currency, amount: 0n, accountVersion: account.version, balance: account.balance }
  }

  #reverse(command: NaiveCommand, currency: string): Posted | string {
    const type = read(command.data, 'targetType')
    const target = operationIdentity(command, type, read(command.data, 'targetOperationId'))
    const decided = this.#operations.get(target)
    if (decided === undefined) return 'TARGET_NOT_FOUND'
    const { result } = decided
    if (result.verdict !== 'APPLIED' || type === 'open' || type === 'reverse' || type === 'limit' || result.currency !== currency)
      return 'TARGET_NOT_REVERSIBLE'
    if (this.#reversed.has(target)) return 'ALREADY_REVERSED'
    const outcome = this.#post(command, currency, -result.amountMinor, false)
    if (typeof outcome !== 'string') this.#reversed.add(target)
    return outcome
  }

  #post(command: NaiveCommand, currency: string, amount: bigint, opens: boolean): Posted | string {
    const key = accountKeyOf(command.tenantId, command.businessKey, currency)
    const external = accountKeyOf(command.tenantId, `@external/${command.bucket}`, currency)
    const account = this.#accounts.get(key) ?? (opens ? NEW_ACCOUNT : undefined)
    if (account === undefined) return 'ACCOUNT_NOT_FOUND'
    const counter = this.#accounts.get(external) ?? NEW_ACCOUNT
    const balance = account.balance + amount
    if (amount < 0n && balance + account.limit < 0n) return 'INSUFFICIENT_FUNDS'
    if (isTooLarge(balance) || isTooLarge(counter.balance - amount)) return 'BALANCE_OVERFLOW'
    this.#accounts.set(key, { ...account, balance, version: account.version + 1n })
    this.#accounts.set(external, { ...counter, balance: counter.balance - amount, version: counter.version + 1n })
    return { currency, amount, accountVersion: account.version + 1n, balance }
  }

  #park(reason: string): NaiveAnswer {
    this.#parked++
    return { verdict: 'PARKED', reason, first: null }
  }
}
