import { type Command, createCommand } from '../src/command.ts'
import { type ContractRegistry, createContractRegistry } from '../src/contract.ts'
import { MONEY_CONTRACTS } from '../src/contracts/money.ts'
import { parseBusinessKey, parseEventId, parseOperationId, parseTenantId } from '../src/identity.ts'

export const registry = createContractRegistry(MONEY_CONTRACTS)
/** 2023-11-14T22:13:20Z */
export const NOW_US = 1_700_000_000_000_000n
export const HOUR_US = 3_600_000_000n

export interface CommandTexts {
  readonly tenantId?: string
  readonly businessKey?: string
  readonly bucket?: number
  readonly type?: string
  readonly version?: number
  readonly eventId?: string
  readonly operationId?: string | null
  readonly aggregateVersion?: bigint | null
  readonly offset?: bigint
  readonly data?: Readonly<Record<string, unknown>>
}

/** A valid deposit of 100.00 CZK unless the texts say otherwise. */
export function command(texts: CommandTexts = {}): Command {
  return commandUnder(registry, texts)
}

/** The same under other contracts than those that this release ships. */
export function commandUnder(contracts: ContractRegistry, texts: CommandTexts): Command {
  const contract = contracts.find(texts.type ?? 'deposit', texts.version ?? 1)
  if (contract === undefined) throw new Error(`no contract ${texts.type ?? 'deposit'}.v${texts.version ?? 1}`)
  const operationId = texts.operationId ?? 'operation-1'
  const bucket = texts.bucket ?? 0
  return createCommand({
    record: {
      position: { topic: 'commands', partition: bucket, offset: texts.offset ?? 0n },
      key: null,
      value: Buffer.from('{}'),
      headers: [],
      timestampMs: 0n,
    },
    contract,
    tenantId: parseTenantId(texts.tenantId ?? 'bank'),
    businessKey: parseBusinessKey(texts.businessKey ?? 'alice'),
    bucket,
    eventId: parseEventId(texts.eventId ?? 'event-1'),
    operationId: contract.identity === 'event' ? null : parseOperationId(operationId),
    aggregateVersion: texts.aggregateVersion ?? null,
    data: texts.data ?? { amount: '10000', currency: 'CZK' },
  })
}

/** A UUIDv7 of that time; `tail` tells apart those of one millisecond. */
export function uuidv7(timeMs: number, tail = 0): string {
  const time = timeMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${tail.toString(16).padStart(12, '0')}`
}
