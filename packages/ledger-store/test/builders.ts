import {
  type Command,
  createCommand,
  createContractRegistry,
  MONEY_CONTRACTS,
  parseBusinessKey,
  parseEventId,
  parseOperationId,
  parseTenantId,
  recordDigest,
} from '@onceledger/core'
import type { Batch, BatchItem } from '../src/batch.ts'
import type { Names } from '../src/names.ts'
import type { Row, Session, ShardDatabase } from '../src/session.ts'

export const registry = createContractRegistry(MONEY_CONTRACTS)
export const NOW_US = 1_700_000_000_000_000n

/** Names that are interned on sight, without a control schema. */
export function fakeNames(): Names {
  const numbers = new Map<string, number>()
  const numberOf = (name: string): number => {
    const known = numbers.get(name) ?? numbers.size + 1
    numbers.set(name, known)
    return known
  }
  return {
    resolveTenants: async () => undefined,
    tenantNo: (tenantId) => numberOf(`tenant ${tenantId}`),
    operationTypeNo: (name) => numberOf(`type ${name}`),
    findOperationTypeNo: (name) => numberOf(`type ${name}`),
    operationTypeName: () => undefined,
    consumerNo: (name) => numberOf(`consumer ${name}`),
  }
}

export interface CommandTexts {
  readonly tenant?: string
  readonly key?: string
  readonly eventId?: string
  readonly operationId?: string
  readonly type?: string
  readonly version?: number
  readonly data?: Readonly<Record<string, string>>
  readonly topic?: string
  readonly offset?: bigint
}

export function command(texts: CommandTexts = {}): Command {
  const contract = registry.find(texts.type ?? 'deposit', texts.version ?? 1)
  if (contract === undefined) throw new Error('no such contract')
  const position = { topic: texts.topic ?? 'topic', partition: 0, offset: texts.offset ?? 0n }
  return createCommand({
    record: { position, key: null, value: Buffer.from('{}'), headers: [], timestampMs: 0n },
    contract,
    tenantId: parseTenantId(texts.tenant ?? 'bank'),
    businessKey: parseBusinessKey(texts.key ?? 'alice'),
    bucket: 0,
    eventId: parseEventId(texts.eventId ?? `event-${texts.offset ?? 0n}`),
    operationId: contract.identity === 'event' ? null : parseOperationId(texts.operationId ?? `operation-${texts.offset ?? 0n}`),
    aggregateVersion: null,
    data: texts.data ?? { amount: '1', currency: 'CZK' },
  })
}

export function batchOf(items: readonly BatchItem[], expectedOffset = 0n): Batch {
  const last = items.at(-1)
  const record = last === undefined ? null : last.kind === 'command' ? last.command.record : last.parked.record
  return {
    items,
    buckets: [0],
    source: {
      topic: 'topic',
      partition: 0,
      expectedOffset,
      fresh: true,
      nextOffset: expectedOffset + BigInt(items.length),
      lastDigestHex: record === null ? '00'.repeat(32) : recordDigest(record).toString('hex'),
    },
  }
}

export function commands(count: number): BatchItem[] {
  return Array.from({ length: count }, (_, i) => ({ kind: 'command', command: command({ offset: BigInt(i) }) }))
}

export interface FakeDatabase extends ShardDatabase {
  readonly packets: string[]
}

/** A database of one active bucket and nothing else. `fail` may throw for a packet, as the driver would. */
export function fakeDatabase(fail: (sql: string, packetNo: number) => void = () => undefined): FakeDatabase {
  const packets: string[] = []
  const session: Session = {
    async run(sql): Promise<Row[][]> {
      packets.push(sql)
      fail(sql, packets.length)
      return sql.split(';').map((statement) => (statement.includes('FROM owned_bucket') ? [[0, 'ACTIVE']] : []))
    },
  }
  return { packets, withSession: (work) => work(session), close: async () => undefined }
}

/** An error as mysql2 gives it for an error packet of the server. */
export function serverError(errno: number): Error {
  return Object.assign(new Error(`server error ${errno}`), { errno, code: `ER_${errno}` })
}
