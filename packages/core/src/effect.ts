import type { Command } from './command.ts'
import type { RejectionReason } from './contract.ts'
import { Bug } from './errors.ts'
import { operationKey } from './keys.ts'
import { fitsMinorUnits } from './money.ts'
import { type AccountOwner, externalOwnerOf, type Sheet } from './sheet.ts'

/** What applying an intent came to: the posting, or why the ledger refuses it. */
export type EffectOutcome =
  | {
      readonly applied: true
      readonly currency: string
      readonly amountMinor: bigint
      readonly accountVersion: bigint
      readonly balanceAfterMinor: bigint
    }
  | { readonly applied: false; readonly reason: RejectionReason }

/** Applies the command's effect to the sheet, or changes nothing and says why: `stale` where a newer snapshot stands. */
export function applyEffect(sheet: Sheet, command: Command): EffectOutcome | 'stale' {
  const { effect } = command.contract
  switch (effect.kind) {
    case 'open':
      return open(sheet, command)
    case 'post':
      return post(sheet, command, field(command, 'currency'), effect.sign * BigInt(field(command, 'amount')), effect.opensAccount)
    case 'reverse':
      return reverse(sheet, command)
    case 'limit':
      return setLimit(sheet, command)
  }
}

function open(sheet: Sheet, command: Command): EffectOutcome {
  const currency = field(command, 'currency')
  const owner = ownerOf(command, currency)
  if (sheet.account(owner) !== undefined) return refuse('ACCOUNT_EXISTS')
  sheet.openAccount(owner, BigInt(field(command, 'overdraftLimit')))
  return { applied: true, currency, amountMinor: 0n, accountVersion: 0n, balanceAfterMinor: 0n }
}

/** Two postings that sum to zero (ADJ-9): the account's, and its opposite on the external account of the same bucket. */
function post(sheet: Sheet, command: Command, currency: string, amountMinor: bigint, opensAccount: boolean): EffectOutcome {
  const owner = ownerOf(command, currency)
  const account = sheet.account(owner)
  if (account === undefined && !opensAccount) return refuse('ACCOUNT_NOT_FOUND')
  const balanceAfterMinor = (account?.balanceMinor ?? 0n) + amountMinor
  if (amountMinor < 0n && balanceAfterMinor < -(account?.overdraftLimitMinor ?? 0n)) return refuse('INSUFFICIENT_FUNDS')

  const external = externalOwnerOf(command.tenantId, command.bucket, currency)
  const counter = sheet.account(external)
  const counterAfterMinor = (counter?.balanceMinor ?? 0n) - amountMinor
  if (!fitsMinorUnits(balanceAfterMinor) || !fitsMinorUnits(counterAfterMinor)) return refuse('BALANCE_OVERFLOW')

  sheet.post(counter ?? sheet.openAccount(external, 0n), counterAfterMinor)
  const accountVersion = sheet.post(account ?? sheet.openAccount(owner, 0n), balanceAfterMinor)
  return { applied: true, currency, amountMinor, accountVersion, balanceAfterMinor }
}

function reverse(sheet: Sheet, command: Command): EffectOutcome {
  const targetType = field(command, 'targetType')
  const targetKey = operationKey(targetType, field(command, 'targetOperationId'), command.aggregateId)
  const target = sheet.operation(targetKey)
  if (target === undefined) return refuse('TARGET_NOT_FOUND')
  const { verdict, currency, amountMinor } = target.result
  const reversible = verdict === 'APPLIED' && amountMinor !== 0n && targetType !== command.contract.name
  if (!reversible || currency !== field(command, 'currency')) return refuse('TARGET_NOT_REVERSIBLE')
  if (sheet.isReversed(targetKey)) return refuse('ALREADY_REVERSED')
  const outcome = post(sheet, command, currency, -amountMinor, false)
  if (outcome.applied) {
    sheet.recordReversal(targetKey)
    sheet.writes.reversals.push({ command, targetType, targetOperationId: field(command, 'targetOperationId') })
  }
  return outcome
}

/** ORD-4: of several limits the highest version stands. */
function setLimit(sheet: Sheet, command: Command): EffectOutcome | 'stale' {
  const currency = field(command, 'currency')
  const account = sheet.account(ownerOf(command, currency))
  if (account === undefined) return refuse('ACCOUNT_NOT_FOUND')
  const version = command.aggregateVersion ?? 0n
  if (version <= account.limitVersion) return 'stale'
  sheet.setLimit(account, BigInt(field(command, 'overdraftLimit')), version)
  return { applied: true, currency, amountMinor: 0n, accountVersion: account.version, balanceAfterMinor: account.balanceMinor }
}

function ownerOf({ aggregateId, tenantId, businessKey, bucket }: Command, currency: string): AccountOwner {
  return { aggregateId, tenantId, businessKey, currency, bucket }
}

function refuse(reason: RejectionReason): EffectOutcome {
  return { applied: false, reason }
}

function field(command: Command, name: string): string {
  const value = command.intent[name]
  if (value === undefined) throw new Bug(`${command.contract.name} has an effect that needs the intent field ${name}`)
  return value
}
