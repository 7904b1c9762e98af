import type { AccountBalance, AccountPosting, LedgerFigures, PartitionProgress } from '@onceledger/ledger-store'
import { type ExpectedState, postingKey } from './expected.ts'

/** What the ledger's databases hold at the end, of all shards together. */
export interface FoundState {
  readonly balances: readonly AccountBalance[]
  readonly postings: readonly AccountPosting[]
  /** Results in their topic that are final, each id once. */
  readonly resultsPublished: number
  readonly figures: LedgerFigures
  readonly partitions: readonly PartitionProgress[]
  /** Messages in the log, by its own account. */
  readonly logEnd: bigint
}

interface Check {
  readonly name: string
  readonly expected: string
  readonly found: string
  readonly ok: boolean
}

export interface Judgement {
  readonly checks: readonly Check[]
  readonly balanceMismatches: number
  readonly postingMismatches: number
  readonly deferredRemaining: number
  readonly gaps: number
  readonly resultsPublished: number
  readonly balancesSum: bigint
  readonly lag: bigint
  readonly tally: Readonly<Record<'applied' | 'duplicate' | 'conflict' | 'rejected' | 'parked' | 'stale', number>>
}

const EXTERNAL_PREFIX = '@external/'

/** Holds what was found against what the input implies. */
export function judge(expected: ExpectedState, found: FoundState): Judgement {
  const balanceMismatches = countMismatches(expected.balances, ownBalances(found.balances))
  const postingMismatches = countMismatches(expected.postings, ownPostings(found.postings))
  const balancesSum = found.balances.reduce((sum, { balanceMinor }) => sum + balanceMinor, 0n)
  const applied = found.partitions.reduce((sum, { nextOffset }) => sum + nextOffset, 0n)
  const lag = found.logEnd - applied
  const tally = tallyOf(found.partitions)
  const { figures, resultsPublished } = found
  const check = (name: string, want: number | bigint, have: number | bigint): Check => ({
    name,
    expected: want.toString(),
    found: have.toString(),
    ok: want.toString() === have.toString(),
  })
  const checks = [
    check("accounts whose balance is not the bank's", 0, balanceMismatches),
    check("postings whose balance is not the bank's", 0, postingMismatches),
    check('sum of all balances', 0, balancesSum),
    check('operations, each once', expected.operations, figures.operations),
    check('postings', expected.postings.size, figures.postings),
    check('inbox rows, one for each event id', expected.inboxRows, figures.inboxRows),
    check('messages in the log', expected.messages, found.logEnd),
    check('messages not applied', 0, lag),
    check(
      'verdicts given',
      expected.messages,
      Object.values(tally).reduce((sum, count) => sum + count, 0),
    ),
    check('verdicts APPLIED', expected.operations, tally.applied),
    check('verdicts DUPLICATE', expected.messages - expected.operations, tally.duplicate),
    check('conflicts, rejections, parked and stale messages', 0, tally.conflict + tally.rejected + tally.parked + tally.stale),
    check('commands that still wait, and accounts with a gap', 0, figures.deferred + figures.gaps),
    check('results published, one for each message', expected.messages, resultsPublished),
    check('audit and parking rows', 0, figures.audits + figures.parked),
  ]
  const { deferred: deferredRemaining, gaps } = figures
  return { checks, balanceMismatches, postingMismatches, deferredRemaining, gaps, resultsPublished, balancesSum, lag, tally }
}

function ownBalances(balances: readonly AccountBalance[]): Map<string, bigint> {
  return new Map(
    balances.flatMap(({ businessKey, balanceMinor }) => (businessKey.startsWith(EXTERNAL_PREFIX) ? [] : [[businessKey, balanceMinor]])),
  )
}

function ownPostings(postings: readonly AccountPosting[]): Map<string, bigint> {
  return new Map(
    postings.map(({ businessKey, accountVersion, balanceAfterMinor }) => [postingKey(businessKey, accountVersion), balanceAfterMinor]),
  )
}

/** What one side lacks is a mismatch too. */
function countMismatches(expected: ReadonlyMap<string, bigint>, found: ReadonlyMap<string, bigint>): number {
  const keys = new Set([...expected.keys(), ...found.keys()])
  return [...keys].filter((key) => expected.get(key) !== found.get(key)).length
}

function tallyOf(partitions: readonly PartitionProgress[]): Judgement['tally'] {
  const sum = (of: (progress: PartitionProgress) => bigint): number =>
    Number(partitions.reduce((total, progress) => total + of(progress), 0n))
  return {
    applied: sum(({ tally }) => tally.applied),
    duplicate: sum(({ tally }) => tally.duplicate),
    conflict: sum(({ tally }) => tally.conflict),
    rejected: sum(({ tally }) => tally.rejected),
    parked: sum(({ tally }) => tally.parked),
    stale: sum(({ tally }) => tally.stale),
  }
}
