import type { AuditView } from '@onceledger/ledger-store'
import { timeOfUs } from './output.ts'

/** Audit rows for a person: what was refused, where it came from, how often. */
export function auditLines(audits: readonly AuditView[], typeOf: (typeNo: number) => string): string[] {
  return audits.flatMap((audit) => {
    const { kind, operationTypeNo, operationId, eventId, businessKey, intent, firstOperation, topic, partition, offset } = audit
    const who = operationId === null ? `event ${eventId}` : `${typeOf(operationTypeNo)} ${operationId} (event ${eventId})`
    return [
      `${kind}  ${who} of ${businessKey}: ${JSON.stringify(intent)}`,
      `          first stood ${firstOperation ?? 'unknown'}; seen ${audit.seenCount} times, first ${timeOfUs(audit.firstSeenUs)}, last ${timeOfUs(audit.lastSeenUs)}` +
        (topic === null ? '' : `, from ${topic} partition ${partition} offset ${offset}`),
    ]
  })
}
