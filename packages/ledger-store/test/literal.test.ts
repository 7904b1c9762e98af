import type { Command } from '@onceledger/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAdjudicator } from '../src/adjudicator.ts'
import type { BatchItem } from '../src/batch.ts'
import { NO_FAILPOINTS } from '../src/batch-transaction.ts'
import { insertAudits, insertParked } from '../src/sql/evidence.ts'
import { bytesLiteral, idLiteral, isHex, textLiteral, utf8Literal } from '../src/sql/literal.ts'
import { batchOf, command, type CommandTexts, fakeDatabase, fakeNames, NOW_US, registry } from './builders.ts'

const LITERAL = /x'([0-9a-f]*)'/g

/** What is left of SQL when binary literals and numbers are taken out: the same for every message, or text has reached the parser. */
function skeletonOf(sql: string): string {
  return sql.replaceAll(LITERAL, (_whole, hex: string) => (isHex(hex) ? 'x' : 'ODD')).replaceAll(/-?\b\d+\b/g, 'n')
}

const HOSTILE = ["'", "x'", '\\', '";--', "'; DROP TABLE account; --", '/*', '\u0000', '\ud800', 'é', '🔑', '`', '%', '\n', '0x', 'NULL']
const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary', maxLength: 4 })), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(''))

/** Texts that are allowed as ids: what the parsers refuse cannot come this far. */
const idText = hostileText.map((text) => text.toWellFormed().replaceAll('\u0000', '0').slice(0, 20).toWellFormed())
const texts: fc.Arbitrary<CommandTexts> = fc.record({
  tenant: idText.map((text) => `t${text.replaceAll('/', '_')}`),
  key: idText.map((text) => `k${text}`),
  eventId: idText.map((text) => `e${text}`),
  operationId: idText.map((text) => `o${text}`),
  topic: hostileText,
  data: fc.record({
    amount: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String),
    currency: fc.constant('CZK'),
    reference: idText.map((text) => `r${text}`),
  }),
})

function evidenceOf(own: Command): string {
  const audit = {
    command: own,
    kind: 'CONFLICT',
    firstDigest: own.digest,
    firstContractVersion: 1,
    firstOperation: `deposit/${own.operationId}`,
  } as const
  return insertAudits([audit], fakeNames(), NOW_US)
}

async function packetsOf(item: BatchItem): Promise<string[]> {
  const database = fakeDatabase()
  const context = {
    database,
    names: fakeNames(),
    registry,
    bucketCount: 4,
    publishing: false,
    nowUs: () => NOW_US,
    failpoints: NO_FAILPOINTS,
  }
  const batch = batchOf([item])
  const record = item.kind === 'command' ? item.command.record : item.parked.record
  await createAdjudicator({ ...context, random: () => 0, sleep: async () => undefined }).judge({
    ...batch,
    source: { ...batch.source, topic: record.position.topic },
  })
  return database.packets
}

describe('literals', () => {
  it('turn text and bytes into hex digits that say the same', () => {
    fc.assert(
      fc.property(hostileText, fc.uint8Array(), (text, bytes) => {
        expect(textLiteral(text)).toBe(`x'${Buffer.from(text).toString('hex')}'`)
        expect(utf8Literal(text)).toBe(`_utf8mb4 ${textLiteral(text)}`)
        expect(bytesLiteral(bytes)).toBe(`x'${Buffer.from(bytes).toString('hex')}'`)
        expect(bytesLiteral(bytes.subarray(1))).toBe(`x'${Buffer.from(bytes).toString('hex').slice(2)}'`)
        expect(skeletonOf(idLiteral(text))).toBe('x')
      }),
    )
    expect(bytesLiteral(null)).toBe('NULL')
    expect(["0'", 'abc', 'AB', 'zz', 'x'].filter(isHex)).toEqual([])
  })

  it('[IDN-2] nothing of a command but hex digits and numbers reaches the SQL of its batch', async () => {
    const plain = { kind: 'command', command: command({ version: 2, data: { amount: '1', currency: 'CZK', reference: 'r' } }) } as const
    const expected = (await packetsOf(plain)).map(skeletonOf)
    expect(expected).toHaveLength(2)
    await fc.assert(
      fc.asyncProperty(texts, async (each) => {
        const item = { kind: 'command', command: command({ ...each, version: 2 }) } as const
        expect((await packetsOf(item)).map(skeletonOf)).toEqual(expected)
        expect(skeletonOf(evidenceOf(item.command))).toBe(skeletonOf(evidenceOf(plain.command)))
      }),
      { numRuns: 300 },
    )
  })

  it('[ADJ-10] nothing of a message that is no command reaches the SQL that parks it', () => {
    const parkedSql = (text: string, bytes: Uint8Array): string => {
      const record = {
        position: { topic: text, partition: 0, offset: 1n },
        key: bytes,
        value: bytes,
        headers: [[text, bytes]] as const,
        timestampMs: 1n,
      }
      return skeletonOf(insertParked([{ record, tenantId: text.slice(0, 8), reason: text, detail: text, retryable: false }], NOW_US))
    }
    const expected = parkedSql('x', new Uint8Array())
    fc.assert(
      fc.property(hostileText, fc.uint8Array(), (text, bytes) => {
        expect(parkedSql(text, bytes)).toBe(expected)
      }),
    )
  })
})
