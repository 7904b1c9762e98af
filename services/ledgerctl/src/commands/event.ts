import { dayToIso, parseBusinessKey, parseTenantId } from '@onceledger/core'
import { findEvents } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs } from '../output.ts'
import type { KeyOptions } from './key-options.ts'

/** One event as the inbox of a consumer keeps it. */
export async function showEvent(
  ledger: Ledger,
  output: Output,
  options: KeyOptions & { readonly consumer: string; readonly eventId: string },
): Promise<void> {
  const consumers = new Set(ledger.registry.all().map(({ consumer }) => consumer))
  if (!consumers.has(options.consumer))
    throw new CommandFailed(EXIT.usage, `there is no inbox ${JSON.stringify(options.consumer)}; there are ${[...consumers].join(', ')}`)
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
