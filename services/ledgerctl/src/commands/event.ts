import { dayToIso, parseBusinessKey, parseTenantId } from '@onceledger/core'
import {
  type EventView,
  findAudits,
  findEvents,
  findOperation,
  findWaiting,
  type OperationView,
  type WaitingView,
} from '@onceledger/ledger-store'
import { auditLines } from '../audit-lines.ts'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs } from '../output.ts'
import type { KeyOptions } from './key-options.ts'

type ShownEvent = EventView & {
  readonly type: string | null
  readonly topic: string
  readonly partition: number
  readonly event_day: string
  /** First result of the operation that it carried. */
  readonly first: OperationView['result'] | null
}

/** One event as the inbox of a consumer keeps it: verdict, operation and its first result, place in the log; and whether it waits. */
export async function showEvent(
  ledger: Ledger,
  output: Output,
  options: KeyOptions & { readonly consumer: string; readonly eventId: string },
): Promise<void> {
  const { consumer, eventId } = options
  const consumers = new Set(ledger.registry.all().map((contract) => contract.consumer))
  if (!consumers.has(consumer))
    throw new CommandFailed(EXIT.usage, `there is no inbox ${JSON.stringify(consumer)}; there are ${[...consumers].join(', ')}`)
  const { database, name } = await ledger.locate(parseTenantId(options.tenant), parseBusinessKey(options.key))
  const names = await ledger.names()
  const { topic } = await ledger.foundation()
  const consumerNo = names.consumerNo(consumer)
  const typeOf = (no: number): string => names.operationTypeName(no) ?? String(no)
  const waiting = (await findWaiting(database, name, consumerNo, eventId)).map((each) => ({ ...each, type: typeOf(each.operationTypeNo) }))
  const audits = await findAudits(database, { kind: 'event', aggregate: name, consumerNo, eventId })
  const events: ShownEvent[] = []
  for (const event of await findEvents(database, name, consumerNo, eventId)) {
    const { operationId, operationTypeNo } = event
    const operation = operationId === null ? null : await findOperation(database, name, operationTypeNo, operationId)
    const type = names.operationTypeName(operationTypeNo) ?? null
    events.push({ ...event, type, topic, partition: event.bucket, event_day: dayToIso(event.eventDay), first: operation?.result ?? null })
  }
  if (events.length + waiting.length + audits.length === 0)
    throw new CommandFailed(
      EXIT.finding,
      `no event ${JSON.stringify(eventId)} of ${options.tenant}/${options.key} in the inbox of ${consumer}; what could not be judged is in: ledgerctl parked list`,
    )
  output.result({ events, waiting, audits }, () => [
    ...events.flatMap(eventLines),
    ...waiting.map((each) => waitingLine(eventId, each)),
    ...auditLines(audits, typeOf),
  ])
}

function eventLines(event: ShownEvent): string[] {
  return [
    `event ${event.eventId}: ${event.verdict}${event.reason === null ? '' : ` ${event.reason}`} at ${timeOfUs(event.processedAtUs)}`,
    event.operationId === null ? `${event.type ?? '?'}, judged by event` : `carried ${event.type ?? '?'} ${event.operationId}`,
    ...resultLines(event),
    `came from ${event.topic} partition ${event.partition} offset ${event.sourceOffset ?? '?'}`,
  ]
}

function resultLines({ verdict, first, balanceAfterMinor, accountVersion }: ShownEvent): string[] {
  if (balanceAfterMinor !== null) return [`balance after ${balanceAfterMinor}, account version ${accountVersion}`]
  if (first === null) return []
  const said = `${first.verdict} ${first.reason ?? `${first.amountMinor} ${first.currency ?? ''}, balance after ${first.balanceAfterMinor}`}`
  // IDN-6: it is no answer to this event.
  return [verdict === 'CONFLICT' ? `which stands with another intent: ${said}` : `whose first result is ${said}`]
}

function waitingLine(
  eventId: string,
  { type, version, operationId, topic, partition, offset, sinceUs }: WaitingView & { readonly type: string },
): string {
  return `event ${eventId}: DEFERRED since ${timeOfUs(sinceUs)}, ${type} ${operationId ?? ''} waits with version ${version}; came from ${topic} partition ${partition} offset ${offset}`
}
