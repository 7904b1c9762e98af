import { dayToIso, type FirstResult, parseBusinessKey, parseTenantId } from '@onceledger/core'
import { findAccounts, findEvents, findOperation } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs, toTable } from '../output.ts'

export interface KeyOptions {
  readonly tenant: string
  readonly key: string
}

export async function showOperation(
  ledger: Ledger,
  output: Output,
  options: KeyOptions & { readonly type: string; readonly operationId: string },
): Promise<void> {
  const { database, name } = await ledger.locate(parseTenantId(options.tenant), parseBusinessKey(options.key))
  const typeNo = (await ledger.names()).findOperationTypeNo(options.type)
  const found = typeNo === undefined ? null : await findOperation(database, name, typeNo, options.operationId)
  if (found === null)
    throw new CommandFailed(
      EXIT.finding,
      `no ${options.type} ${JSON.stringify(options.operationId)} of ${options.tenant}/${options.key} is recorded`,
    )
  const { result } = found
  output.result({ type: options.type, ...found }, () => [
    `${options.type} ${found.operationId} of ${options.tenant}/${options.key}`,
    ...resultLines(result),
    `contract version ${found.contractVersion}, bucket ${found.bucket}`,
    `intent ${found.intentDigest}`,
  ])
}

function resultLines({ verdict, reason, amountMinor, currency, accountVersion, balanceAfterMinor, committedAtUs }: FirstResult): string[] {
  const effect =
    verdict === 'APPLIED'
      ? `${amountMinor} ${currency ?? ''}, balance after ${balanceAfterMinor}, account version ${accountVersion}`
      : (reason ?? '')
  return [`first result: ${verdict} ${effect}`, `judged at ${timeOfUs(committedAtUs)}`]
}

export async function showEvent(
  ledger: Ledger,
  output: Output,
  options: KeyOptions & { readonly consumer: string; readonly eventId: string },
): Promise<void> {
  const { database, name } = await ledger.locate(parseTenantId(options.tenant), parseBusinessKey(options.key))
  const names = await ledger.names()
  const { topic } = await ledger.foundation()
  const found = await findEvents(database, name, names.consumerNo(options.consumer), options.eventId)
  if (found.length === 0)
    throw new CommandFailed(
      EXIT.finding,
      `no event ${JSON.stringify(options.eventId)} of ${options.tenant}/${options.key} in the inbox of ${options.consumer}`,
    )
  const views = found.map((event) => ({
    ...event,
    type: names.operationTypeName(event.operationTypeNo) ?? null,
    topic,
    event_day: dayToIso(event.eventDay),
  }))
  output.result(views, () =>
    views.flatMap((event) => [
      `event ${event.eventId}: ${event.verdict}${event.reason === null ? '' : ` ${event.reason}`} at ${timeOfUs(event.processedAtUs)}`,
      event.operationId === null ? `${event.type ?? '?'}, judged by event` : `carried ${event.type ?? '?'} ${event.operationId}`,
      `came from ${topic} partition ${event.bucket} offset ${event.sourceOffset ?? '?'}`,
    ]),
  )
}

export async function showAccount(ledger: Ledger, output: Output, options: KeyOptions & { readonly postings: number }): Promise<void> {
  const { database, name } = await ledger.locate(parseTenantId(options.tenant), parseBusinessKey(options.key))
  const names = await ledger.names()
  const accounts = await findAccounts(database, name, options.postings)
  if (accounts.length === 0) throw new CommandFailed(EXIT.finding, `${options.tenant}/${options.key} has no account`)
  const typeOf = (no: number | null): string => (no === null ? 'event' : (names.operationTypeName(no) ?? String(no)))
  const views = accounts.map((account) => ({
    ...account,
    postings: account.postings.map((posting) => ({ ...posting, type: typeOf(posting.operationTypeNo) })),
  }))
  output.result(views, () =>
    views.flatMap((account) => [
      `${options.tenant}/${options.key} ${account.currency}: balance ${account.balanceMinor}, version ${account.version}, overdraft limit ${account.overdraftLimitMinor}, bucket ${account.bucket}`,
      ...toTable([
        ['version', 'amount', 'balance after', 'at', 'by', 'id'],
        ...account.postings.map((posting) => [
          posting.accountVersion.toString(),
          posting.amountMinor.toString(),
          posting.balanceAfterMinor.toString(),
          timeOfUs(posting.committedAtUs),
          posting.type,
          posting.operationId ?? posting.eventId ?? '',
        ]),
      ]),
    ]),
  )
}
