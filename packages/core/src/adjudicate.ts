import { type Command, digestUnderVersion } from './command.ts'
import type { ContractRegistry } from './contract.ts'
import { applyEffect } from './effect.ts'
import { idTimeMsOfHex } from './identity.ts'
import { eventKeyOf, operationKeyOf, operationReference } from './keys.ts'
import { Sheet } from './sheet.ts'
import type { LedgerState } from './state.ts'
import { dayOfMs } from './time.ts'
import type { FirstResult, Judgement } from './verdict.ts'
import type { AuditWrite, BatchWrites, EventWrite } from './writes.ts'

export interface AdjudicationContext {
  /** Microseconds since 1970, UTC: the time that results carry. */
  readonly nowUs: bigint
  readonly registry: ContractRegistry
}

interface BatchContext extends AdjudicationContext {
  readonly nowMs: number
}

export interface Adjudication {
  /** One per command, in the order of the commands. */
  readonly judgements: readonly Judgement[]
  readonly writes: BatchWrites
}

/**
 * Judges a batch: pure, one command after the other, each seeing what those before it decided. Duplicates inside the batch are
 * judged like any others. The caller writes all rows in one transaction or none (ADJ-1).
 * @throws CorruptData when a stored row contradicts its key; nothing of the batch may then be written.
 */
export function adjudicate(state: LedgerState, commands: readonly Command[], context: AdjudicationContext): Adjudication {
  const sheet = new Sheet(state)
  const batch = { ...context, nowMs: Number(context.nowUs / 1000n) }
  const judgements = commands.map((command) => judge(sheet, command, batch))
  return { judgements, writes: { ...sheet.writes, accounts: sheet.accountWrites() } }
}

function judge(sheet: Sheet, command: Command, context: BatchContext): Judgement {
  const timeMs = idTimeMsOfHex(command.eventIdHex)
  if (timeMs !== null && timeMs > context.nowMs + command.contract.clockSkewMs)
    return park(sheet, command, 'EVENT_IN_FUTURE', `the event id carries the time ${timeMs} ms, beyond the allowed clock skew`, false)
  return command.contract.identity === 'operation' ? judgeByOperation(sheet, command, context) : judgeByEvent(sheet, command, context)
}

/** The permanent operation key alone decides; the inbox is evidence (ADJ-6). */
function judgeByOperation(sheet: Sheet, command: Command, context: BatchContext): Judgement {
  const key = operationKeyOf(command)
  const stored = sheet.operation(key)
  if (stored === undefined) return judgeFirst(sheet, command, context)

  const digest = digestUnderVersion(command, stored.contractVersion, context.registry)
  if (digest === null) return parkIncomparable(sheet, command, stored.contractVersion)
  if (digest === stored.digest) {
    recordEvent(sheet, command, context, 'DUPLICATE', null)
    return { verdict: 'DUPLICATE', reason: stored.result.reason, first: stored.result }
  }
  recordEvent(sheet, command, context, 'CONFLICT', null)
  const { name, contract } = { name: command.operationId ?? '', contract: command.contract.name }
  audit(sheet, command, 'CONFLICT', stored.digest, stored.contractVersion, operationReference(contract, name))
  return { verdict: 'CONFLICT', reason: 'OTHER_INTENT', first: null }
}

/** The inbox is the only judge: the event's row carries the digest and the first result. */
function judgeByEvent(sheet: Sheet, command: Command, context: BatchContext): Judgement {
  const stored = sheet.event(eventKeyOf(command))
  if (stored === undefined) return judgeFirst(sheet, command, context)

  const digest = digestUnderVersion(command, stored.contractVersion, context.registry)
  if (digest === null) return parkIncomparable(sheet, command, stored.contractVersion)
  if (digest === stored.digest && stored.result !== null)
    return { verdict: 'DUPLICATE', reason: stored.result.reason, first: stored.result }
  audit(sheet, command, 'CONFLICT', stored.digest, stored.contractVersion, stored.operation)
  return { verdict: 'CONFLICT', reason: 'OTHER_INTENT', first: null }
}

/** An identity seen for the first time: its effect is applied, finally refused and stored, or refused and parked (ADJ-5). */
function judgeFirst(sheet: Sheet, command: Command, context: BatchContext): Judgement {
  const outcome = applyEffect(sheet, command)
  if (!outcome.applied && command.contract.rejections[outcome.reason] === 'retryable')
    return park(sheet, command, outcome.reason, `${command.contract.name} refused for now`, true)

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
  return { verdict: result.verdict, reason: result.reason, first: result }
}

function recordFirst(sheet: Sheet, command: Command, context: BatchContext, result: FirstResult): void {
  if (command.contract.identity === 'operation') {
    const { digest } = command
    sheet.recordOperation(operationKeyOf(command), { contractVersion: command.contract.version, digest, result })
    sheet.writes.operations.push({ command, result })
    recordEvent(sheet, command, context, result.verdict, null)
    return
  }
  if (result.verdict === 'APPLIED') sheet.writes.postings.push({ command, result })
  recordEvent(sheet, command, context, result.verdict, result)
}

/**
 * The event's inbox row, once. An event id that already stands for another operation keeps its first row and leaves an audit row:
 * the second operation is judged by its own key all the same.
 */
function recordEvent(
  sheet: Sheet,
  command: Command,
  context: BatchContext,
  verdict: EventWrite['verdict'],
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
  sheet.writes.events.push({ command, eventDay: eventDayOf(command, context), verdict, result })
}

/** The day in the id where it has one (a pure function of the key, RTE-3), else the day of first processing. */
function eventDayOf(command: Command, context: BatchContext): number {
  return dayOfMs(idTimeMsOfHex(command.eventIdHex) ?? context.nowMs)
}

function audit(
  sheet: Sheet,
  command: Command,
  kind: AuditWrite['kind'],
  firstDigest: string | null,
  firstContractVersion: number,
  firstOperation: string | null,
): void {
  sheet.writes.audits.push({ command, kind, firstDigest, firstContractVersion, firstOperation })
}

function park(sheet: Sheet, command: Command, reason: string, detail: string, retryable: boolean): Judgement {
  sheet.writes.parked.push({ record: command.record, tenantId: command.tenantId, reason, detail, retryable })
  return { verdict: 'PARKED', reason, first: null }
}

function parkIncomparable(sheet: Sheet, command: Command, version: number): Judgement {
  const detail = `the stored row was written under ${command.contract.name}.v${version}, whose digest this command cannot be compared under`
  return park(sheet, command, 'DIGEST_NOT_COMPUTABLE', detail, false)
}
