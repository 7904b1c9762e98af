import type { AuditView } from '@onceledger/ledger-store'
import { timeOfUs } from './output.ts'

/** Audit rows for a person: what was refused, where it came from, how often. */
export function auditLines(audits: readonly AuditView[], typeOf: (typeNo: number) => string): string[] {
  return audits.flatMap((audit) => {
    const { kind, operationTypeNo, operationId, eventId, businessKey, intent, firstOperation, topic, partition, offset } = audit
    const who = operationId === null ? `event ${eventId}` : `${typeOf(operationTypeNo)} ${operationId} (event ${eventId})`
    return [
      `${kind}  ${who} of ${businessKey}: ${JSON.stringify(intent)}`,
      `          first stood ${firstOperation ?? 'unknown'}; ${seenText(audit)}` +
        (topic === null ? '' : `, from ${topic} partition ${partition} offset ${offset}`),
    ]
  })
}

function seenText({ seenCount, firstSeenUs, lastSeenUs }: AuditView): string {
  if (seenCount === 1) return `seen once, ${timeOfUs(firstSeenUs)}`
  return `seen ${seenCount} times, first ${timeOfUs(firstSeenUs)}, last ${timeOfUs(lastSeenUs)}`
}
