import { type Command, digestUnderVersion } from './command.ts'
import type { ContractRegistry } from './contract.ts'
import { applyEffect } from './effect.ts'
import { Bug } from './errors.ts'
import { idTimeMsOfHex } from './identity.ts'
import { bindingKey, eventKeyOf, operationKeyOf, operationReference } from './keys.ts'
import type { Sheet } from './sheet.ts'
import { dayOfMs } from './time.ts'
import type { EventReason, FirstResult, Judgement, RecordedVerdict } from './verdict.ts'
import type { AuditWrite } from './writes.ts'

export interface JudgeContext {
  /** Microseconds since 1970, UTC: the time that results carry. */
  readonly nowUs: bigint
  readonly nowMs: number
  readonly registry: ContractRegistry
}

export const DEFERRED: Judgement = { verdict: 'DEFERRED', reason: 'AHEAD_OF_SEQUENCE', first: null }

/** Judges one command against what is stored and what its batch has decided so far. A DEFERRED command is the caller's to keep. */
export function judge(sheet: Sheet, command: Command, context: JudgeContext): Judgement {
  const timeMs = idTimeMsOfHex(command.eventIdHex)
  if (timeMs !== null && timeMs > context.nowMs + command.contract.clockSkewMs)
    return park(sheet, command, 'EVENT_IN_FUTURE', `the event id carries the time ${timeMs} ms, beyond the allowed clock skew`, false)
  return command.contract.identity === 'operation' ? judgeByOperation(sheet, command, context) : judgeByEvent(sheet, command, context)
}

/** The permanent operation key alone decides; the inbox is evidence (ADJ-6). */
function judgeByOperation(sheet: Sheet, command: Command, context: JudgeContext): Judgement {
  const key = operationKeyOf(command)
  const stored = sheet.operation(key)
  if (stored === undefined) return judgeBound(sheet, command, context)

  const digest = digestUnderVersion(command, stored.contractVersion, context.registry)
  if (digest === null) return parkIncomparable(sheet, command, stored.contractVersion)
  if (digest === stored.digest) {
    recordEvent(sheet, command, context, 'DUPLICATE', stored.result.reason, null)
    return { verdict: 'DUPLICATE', reason: stored.result.reason, first: stored.result }
  }
  return conflict(sheet, command, context, 'OTHER_INTENT', stored.digest, stored.contractVersion, ownReference(command))
}

/** The inbox is the only judge: the event's row carries the digest and the first result. */
function judgeByEvent(sheet: Sheet, command: Command, context: JudgeContext): Judgement {
  const stored = sheet.event(eventKeyOf(command))
  if (stored === undefined) return judgeInOrder(sheet, command, context)

  const digest = digestUnderVersion(command, stored.contractVersion, context.registry)
  if (digest === null) return parkIncomparable(sheet, command, stored.contractVersion)
  if (digest === stored.digest) {
    if (stored.result !== null) return { verdict: 'DUPLICATE', reason: stored.result.reason, first: stored.result }
    // A refusal for its place in the sequence is its first answer, and stays it.
    if (stored.verdict === 'STALE') return { verdict: 'STALE', reason: 'BEHIND_SEQUENCE', first: null }
  }
  return conflict(sheet, command, context, 'OTHER_INTENT', stored.digest, stored.contractVersion, stored.operation)
}

/** RTE-2: a tenant-wide identity belongs to the business key and the intent that claimed it first, whatever became of that command. */
function judgeBound(sheet: Sheet, command: Command, context: JudgeContext): Judgement {
  if (command.contract.scope !== 'tenant') return judgeInOrder(sheet, command, context)
  const key = bindingKey(command.tenantId, command.contract.name, command.operationId ?? '')
  const bound = sheet.binding(key)
  if (bound === undefined) {
    sheet.bind(key, command)
    return judgeInOrder(sheet, command, context)
  }
  const digest = digestUnderVersion(command, bound.contractVersion, context.registry)
  if (digest === null) return parkIncomparable(sheet, command, bound.contractVersion)
  if (digest === bound.digest && bound.businessKey === command.businessKey) return judgeInOrder(sheet, command, context)
  return conflict(sheet, command, context, 'OTHER_INTENT', bound.digest, bound.contractVersion, ownReference(command))
}

/** An identity seen for the first time: whether its turn has come (ORD-1). */
function judgeInOrder(sheet: Sheet, command: Command, context: JudgeContext): Judgement {
  if (command.contract.order !== 'sequence') return judgeFirst(sheet, command, context)
  const version = versionOf(command)
  const head = sheet.sequence.headOf(command.aggregateId)
  if (version > head + 1n) return DEFERRED
  if (version === head + 1n) return judgeFirst(sheet, command, context)
  const taker = sheet.sequence.takenBy(command.aggregateId, version)
  if (taker === undefined) return stale(sheet, command, context)
  return conflict(sheet, command, context, 'VERSION_TAKEN', null, null, taker)
}

/** Its effect is applied, finally refused and stored, or refused and parked (ADJ-5). */
function judgeFirst(sheet: Sheet, command: Command, context: JudgeContext): Judgement {
  const { contract } = command
  const outcome = applyEffect(sheet, command)
  if (outcome === 'stale') return stale(sheet, command, context)
  if (!outcome.applied && contract.rejections[outcome.reason] === 'retryable')
    return park(sheet, command, outcome.reason, `${contract.name} refused for now`, true)

  const result: FirstResult = outcome.applied
    ? {
        verdict: 'APPLIED',
        reason: null,
        currency: outcome.currency,
        amountMinor: outcome.amountMinor,
        accountVersion: outcome.accountVersion,
        balanceAfterMinor: outcome.balanceAfterMinor,
        committedAtUs: context.nowUs,
      }
    : {
        verdict: 'REJECTED',
        reason: outcome.reason,
        currency: null,
        amountMinor: 0n,
        accountVersion: 0n,
        balanceAfterMinor: 0n,
        committedAtUs: context.nowUs,
      }
  recordFirst(sheet, command, context, result)
  if (contract.sequence !== undefined && (outcome.applied || contract.sequence.finalRejection === 'takes-version'))
    sheet.sequence.take(command, versionOf(command), ownReference(command))
  return { verdict: result.verdict, reason: result.reason, first: result }
}

function recordFirst(sheet: Sheet, command: Command, context: JudgeContext, result: FirstResult): void {
  if (command.contract.identity === 'operation') {
    const { digest } = command
    sheet.recordOperation(operationKeyOf(command), { contractVersion: command.contract.version, digest, result })
    sheet.writes.operations.push({ command, result })
    recordEvent(sheet, command, context, result.verdict, result.reason, null)
    return
  }
  if (result.verdict === 'APPLIED') sheet.writes.postings.push({ command, result })
  recordEvent(sheet, command, context, result.verdict, result.reason, result)
}

/** Another intent under a known identity, or another operation under a taken version: an audit row, and nothing else happens (IDN-6). */
function conflict(
  sheet: Sheet,
  command: Command,
  context: JudgeContext,
  reason: 'OTHER_INTENT' | 'VERSION_TAKEN',
  firstDigest: string | null,
  firstContractVersion: number | null,
  firstOperation: string | null,
): Judgement {
  recordEvent(sheet, command, context, 'CONFLICT', reason, null)
  sheet.writes.audits.push({ command, kind: 'CONFLICT', firstDigest, firstContractVersion, firstOperation })
  return { verdict: 'CONFLICT', reason, first: null }
}

/** ORD-1, ORD-4: behind what stands already. It leaves its inbox row and no effect. */
function stale(sheet: Sheet, command: Command, context: JudgeContext): Judgement {
  const reason = command.contract.order === 'snapshot' ? 'BEHIND_SNAPSHOT' : 'BEHIND_SEQUENCE'
  recordEvent(sheet, command, context, 'STALE', reason, null)
  return { verdict: 'STALE', reason, first: null }
}

/**
 * The event's inbox row, once. An event id that already stands for another operation keeps its first row and leaves an audit row:
 * the second operation is judged by its own key all the same.
 */
function recordEvent(
  sheet: Sheet,
  command: Command,
  context: JudgeContext,
  verdict: RecordedVerdict,
  reason: EventReason | null,
  result: FirstResult | null,
): void {
  const key = eventKeyOf(command)
  const operation = command.operationId === null ? null : operationReference(command.contract.name, command.operationId)
  const seen = sheet.event(key)
  if (seen !== undefined) {
    if (seen.operation !== operation) audit(sheet, command, 'EVENT_REUSED', seen.digest, seen.contractVersion, seen.operation)
    return
  }
  const digest = command.contract.identity === 'event' ? command.digest : null
  sheet.recordEvent(key, { contractVersion: command.contract.version, verdict, operation, digest, result })
  sheet.writes.events.push({ command, eventDay: eventDayOf(command, context), verdict, reason, result })
}

/** The day in the id where it has one (a pure function of the key, RTE-3), else the day of first processing. */
export function eventDayOf(command: Command, context: JudgeContext): number {
  return dayOfMs(idTimeMsOfHex(command.eventIdHex) ?? context.nowMs)
}

function audit(
  sheet: Sheet,
  command: Command,
  kind: AuditWrite['kind'],
  firstDigest: string | null,
  firstContractVersion: number | null,
  firstOperation: string | null,
): void {
  sheet.writes.audits.push({ command, kind, firstDigest, firstContractVersion, firstOperation })
}

/** Who a command is in an audit row or as the taker of a version. */
function ownReference(command: Command): string {
  return operationReference(command.contract.name, command.operationId ?? command.eventId)
}

function versionOf(command: Command): bigint {
  if (command.aggregateVersion === null) throw new Bug(`a ${command.contract.name} without its version was decoded`)
  return command.aggregateVersion
}

function park(sheet: Sheet, command: Command, reason: string, detail: string, retryable: boolean): Judgement {
  sheet.writes.parked.push({ record: command.record, tenantId: command.tenantId, reason, detail, retryable })
  return { verdict: 'PARKED', reason, first: null }
}

function parkIncomparable(sheet: Sheet, command: Command, version: number): Judgement {
  const detail = `the stored row was written under ${command.contract.name}.v${version}, whose digest this command cannot be compared under`
  return park(sheet, command, 'DIGEST_NOT_COMPUTABLE', detail, false)
}
