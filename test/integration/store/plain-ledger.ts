import type { CommandSpec } from '../../support/store-ledger.ts'

/** What the rules say about one command, in the words of a judgement. */
export interface PlainAnswer {
  readonly verdict: string
  readonly reason: string | null
  /** Amount, account version and balance after of the first commit. */
  readonly first: readonly [bigint, bigint, bigint] | null
}

interface Account {
  balance: bigint
  version: bigint
  readonly limit: bigint
}

interface Decided {
  readonly intent: string
  readonly applied: boolean
  readonly currency: string
  readonly answer: PlainAnswer
}

const RETRYABLE = new Set(['ACCOUNT_NOT_FOUND', 'TARGET_NOT_FOUND'])

/** The rules of the money contracts once more, one command after the other, without batches, keys, transactions or retries. */
export class PlainLedger {
  readonly accounts = new Map<string, Account>()
  readonly decided = new Map<string, Decided>()
  readonly #reversed = new Set<string>()

  judge(spec: CommandSpec): PlainAnswer {
    const { type = 'deposit', key = '', data = {} } = spec
    const identity = type === 'credit' ? `credit ${key} ${spec.eventId}` : `${type} ${key} ${spec.operationId}`
    const intent = JSON.stringify(data)
    const known = this.decided.get(identity)
    if (known?.intent === intent) return { ...known.answer, verdict: 'DUPLICATE' }
    if (known !== undefined) return { verdict: 'CONFLICT', reason: 'OTHER_INTENT', first: null }

    const currency = String(data.currency)
    const outcome = this.#apply(type, key, currency, data)
    if (typeof outcome === 'string' && (RETRYABLE.has(outcome) || (outcome === 'INSUFFICIENT_FUNDS' && type === 'collect')))
      return { verdict: 'PARKED', reason: outcome, first: null }
    const applied = typeof outcome !== 'string'
    const answer: PlainAnswer = applied
      ? { verdict: 'APPLIED', reason: null, first: outcome }
      : { verdict: 'REJECTED', reason: outcome, first: [0n, 0n, 0n] }
    this.decided.set(identity, { intent, applied, currency, answer })
    return answer
  }

  #apply(type: string, key: string, currency: string, data: Readonly<Record<string, unknown>>): string | [bigint, bigint, bigint] {
    const name = `${key} ${currency}`
    if (type === 'open') {
      if (this.accounts.has(name)) return 'ACCOUNT_EXISTS'
      this.accounts.set(name, { balance: 0n, version: 0n, limit: BigInt(String(data.overdraftLimit)) })
      return [0n, 0n, 0n]
    }
    if (type === 'reverse') return this.#reverse(key, name, currency, data)
    const amount = BigInt(String(data.amount))
    if (type === 'deposit' && !this.accounts.has(name)) this.accounts.set(name, { balance: 0n, version: 0n, limit: 0n })
    return this.#post(name, type === 'withdraw' || type === 'collect' ? -amount : amount)
  }

  #reverse(key: string, name: string, currency: string, data: Readonly<Record<string, unknown>>): string | [bigint, bigint, bigint] {
    const target = `${String(data.targetType)} ${key} ${String(data.targetOperationId)}`
    const known = this.decided.get(target)
    if (known === undefined) return 'TARGET_NOT_FOUND'
    const moved = known.answer.first?.[0] ?? 0n
    if (!known.applied || moved === 0n || known.currency !== currency) return 'TARGET_NOT_REVERSIBLE'
    if (this.#reversed.has(target)) return 'ALREADY_REVERSED'
    const outcome = this.#post(name, -moved)
    if (typeof outcome !== 'string') this.#reversed.add(target)
    return outcome
  }

  #post(name: string, amount: bigint): string | [bigint, bigint, bigint] {
    const account = this.accounts.get(name)
    if (account === undefined) return 'ACCOUNT_NOT_FOUND'
    if (amount < 0n && account.balance + amount < -account.limit) return 'INSUFFICIENT_FUNDS'
    account.balance += amount
    account.version += 1n
    return [amount, account.version, account.balance]
  }
}
