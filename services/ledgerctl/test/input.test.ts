import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createContractRegistry, MONEY_CONTRACTS } from '@onceledger/core'
import { bucketOfKey } from '@onceledger/shard-map'
import { afterAll, describe, expect, it } from 'vitest'
import { commandLine } from '../src/commands/command.ts'
import { EXIT } from '../src/exit.ts'
import { type CheckedLine, readCommands } from '../src/input/commands.ts'
import { readLines } from '../src/input/lines.ts'
import { openSource, spool } from '../src/input/source.ts'

const folder = mkdtempSync(join(tmpdir(), 'onceledger-input-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The bytes in pieces of a size, as a stream would hand them out. */
async function* inPieces(bytes: Buffer, sizeBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += sizeBytes) yield bytes.subarray(at, at + sizeBytes)
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

function deposit(key: string, operation = 'o'): string {
  return commandLine({ type: 'deposit.v1', tenant: 't', key, operation, data: '{"amount":"1","currency":"EUR"}' }, 1_700_000_000_000)
}

function read(text: string | Buffer, sizeBytes = 65_536): Promise<CheckedLine[]> {
  const options = { registry: createContractRegistry(MONEY_CONTRACTS), bucketCount: 64 }
  return all(readCommands(inPieces(Buffer.from(text), sizeBytes), options))
}

function reasonsOf(lines: readonly CheckedLine[]): (string | null)[] {
  return lines.map((line) => (line.kind === 'refused' ? `${line.refused.line} ${line.refused.reason}` : null))
}

describe('lines', () => {
  it.each([1, 2, 3, 7, 100])('are the same, whatever pieces of %i bytes they come in', async (sizeBytes) => {
    const text = 'one\r\n\ntwo \u2028 ä\nlast'
    const lines = await all(readLines(inPieces(Buffer.from(text), sizeBytes), 100))
    expect(lines.map(({ no, bytes }) => [no, bytes?.toString()])).toEqual([
      [1, 'one'],
      [2, ''],
      [3, 'two \u2028 ä'],
      [4, 'last'],
    ])
    expect(lines.at(-1)?.endBytes).toBe(Buffer.byteLength(text))
  })

  it.each([1, 3, 100])('that are too long are not kept, and those after them are read: pieces of %i bytes', async (sizeBytes) => {
    const lines = await all(readLines(inPieces(Buffer.from(`a\n${'x'.repeat(11)}\n${'y'.repeat(10)}\n`), sizeBytes), 10))
    expect(lines.map(({ bytes }) => bytes?.toString() ?? null)).toEqual(['a', null, 'y'.repeat(10)])
  })
})

describe('commands of a file', () => {
  it('[RTE-1] are sent byte by byte as they stand, to the partition of their key', async () => {
    const line = deposit('alice').replace('"EUR"', ' "EUR"')
    expect(await read(`\n  \n${line}\r\n`)).toMatchObject([
      { kind: 'record', record: { key: 't/alice', partition: bucketOfKey('t/alice', 64), value: Buffer.from(line) } },
    ])
  })

  it('may hold U+2028, which ends no line', async () => {
    expect(reasonsOf(await read(deposit('a\u2028b')))).toEqual([null])
  })

  it('are refused by the line, with the reason the shard would have', async () => {
    const lines = await read([deposit('a'), '{"specversion":"1.0"}', 'garbage', deposit('b'), `"${'x'.repeat(70_000)}"`].join('\n'))
    expect(reasonsOf(lines)).toEqual([null, '2 ENVELOPE_INVALID', '3 NOT_JSON', null, '5 TOO_LARGE'])
  })

  it('are refused where they are not UTF-8, and not mended', async () => {
    const [before = '', after = ''] = deposit('KEY').split('businesskey":"KEY')
    const bytes = Buffer.concat([Buffer.from(`${before}businesskey":"`), Buffer.from([0xff]), Buffer.from(after)])
    expect(reasonsOf(await read(bytes))).toEqual(['1 NOT_UTF8'])
  })

  it('are refused beyond 1 MiB without being held', async () => {
    expect(reasonsOf(await read(`${'x'.repeat(1024 * 1024 + 1)}\n${deposit('a')}`))).toEqual(['1 TOO_LARGE', null])
  })
})

describe('a source', () => {
  it('that is a file can be read twice', async () => {
    const file = join(folder, 'two.ndjson')
    writeFileSync(file, 'a\nb\n')
    const source = await openSource(file, inPieces(Buffer.alloc(0), 1))
    for (let pass = 0; pass < 2; pass++) expect(Buffer.concat(await all(source.read())).toString()).toBe('a\nb\n')
    expect([source.repeatable, source.sizeBytes]).toEqual([true, 4])
    await source.close()
  })

  it('that is a stream can be read twice after it was spooled, and leaves no file behind', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('ledgerctl-'))
    const spooled = await spool(await openSource('-', inPieces(Buffer.from('x'.repeat(1_000)), 64)))
    for (let pass = 0; pass < 2; pass++) expect(Buffer.concat(await all(spooled.read())).length).toBe(1_000)
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('ledgerctl-'))).toEqual(before)
    await spooled.close()
  })

  it.each([
    ['that is not there', 'absent.ndjson', /there is no such file/],
    ['that is a folder', '.', /is a folder/],
  ])('%s is refused', async (_case, name, message) => {
    const opened = openSource(join(folder, name), inPieces(Buffer.alloc(0), 1))
    await expect(opened).rejects.toMatchObject({ exitCode: EXIT.usage, message: expect.stringMatching(message) as string })
  })
})
