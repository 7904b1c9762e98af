import { CorruptData, type EventReason, type RejectionReason } from '@onceledger/core'

/** Small integers that stand for verdicts and reasons in rows. Never reused: stored rows carry them for ever. */
const VERDICTS = { APPLIED: 1, REJECTED: 2, DUPLICATE: 3, CONFLICT: 4, STALE: 5 } as const
const REJECTIONS: Readonly<Record<RejectionReason, number>> = {
  ACCOUNT_NOT_FOUND: 1,
  ACCOUNT_EXISTS: 2,
  INSUFFICIENT_FUNDS: 3,
  BALANCE_OVERFLOW: 4,
  TARGET_NOT_FOUND: 5,
  TARGET_NOT_REVERSIBLE: 6,
  ALREADY_REVERSED: 7,
}
const REASONS: Readonly<Record<EventReason, number>> = {
  ...REJECTIONS,
  OTHER_INTENT: 64,
  VERSION_TAKEN: 65,
  BEHIND_SEQUENCE: 66,
  BEHIND_SNAPSHOT: 67,
}

export type StoredVerdict = keyof typeof VERDICTS

const verdictByCode = new Map(Object.entries(VERDICTS).map(([name, code]) => [code as number, name as StoredVerdict]))
const reasonByCode = new Map(Object.entries(REASONS).map(([name, code]) => [code, name as EventReason]))

export function verdictCode(verdict: StoredVerdict): number {
  return VERDICTS[verdict]
}

export function verdictFromCode(code: number): StoredVerdict {
  const verdict = verdictByCode.get(code)
  if (verdict === undefined) throw new CorruptData('VERDICT_UNKNOWN', `stored verdict ${code} is unknown to this release`)
  return verdict
}

export function reasonCode(reason: EventReason | null): number {
  return reason === null ? 0 : REASONS[reason]
}

export function reasonFromCode(code: number): EventReason | null {
  if (code === 0) return null
  const reason = reasonByCode.get(code)
  if (reason === undefined) throw new CorruptData('REASON_UNKNOWN', `stored reason ${code} is unknown to this release`)
  return reason
}

/** The reason of a refusal by the ledger, as operations and first results have it. */
export function rejectionFromCode(code: number): RejectionReason | null {
  const reason = reasonFromCode(code)
  if (reason === null || reason in REJECTIONS) return reason as RejectionReason | null
  throw new CorruptData('REASON_UNKNOWN', `a stored first result has the reason ${reason}, which refuses nothing`)
}
