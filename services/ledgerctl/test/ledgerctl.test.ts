import { CommandLogError } from '@onceledger/command-log'
import { CorruptData } from '@onceledger/core'
import { StoreMisconfigured, StoreUnavailable } from '@onceledger/ledger-store'
import { ConfigError } from '@onceledger/runtime'
import { ShardMapError } from '@onceledger/shard-map'
import { describe, expect, it } from 'vitest'
import { commandLine } from '../src/commands/command.ts'
import { readConfig } from '../src/config.ts'
import { CommandFailed, EXIT } from '../src/exit.ts'
import { explain } from '../src/explain.ts'
import { createOutput, toJson, toTable } from '../src/output.ts'
import { createProgram, isAnswered } from '../src/program.ts'

async function run(...args: readonly string[]): Promise<{ stdout: string; stderr: string; error: unknown }> {
  let stdout = ''
  let stderr = ''
  const streams = { stdout: { write: (text: string) => (stdout += text) }, stderr: { write: (text: string) => (stderr += text) } }
  try {
    await createProgram({ environment: {}, streams }).parseAsync(['node', 'ledgerctl', ...args])
    return { stdout, stderr, error: null }
  } catch (error) {
    return { stdout, stderr, error }
  }
}

describe('usage', () => {
  it('is explained with every exit code and variable', async () => {
    const { stdout, error } = await run('--help')
    expect(isAnswered(error)).toBe(true)
    for (const part of ['migrate', 'submit', 'parked', 'ONCELEDGER_MYSQL_URLS', '4   input was refused']) expect(stdout).toContain(part)
  })

  it.each([
    ['nonsense'],
    ['submit'],
    ['operation', 'show', 'x'],
    ['parked', 'list', '--limit', '0'],
    ['offsets', 'reset', '--partition', 'x', '--to', '1'],
    ['migrate', '--buckets', '0'],
    ['migrate', '--buckets', '65537'],
    ['migrate', '--topic', 'a/b'],
  ])('is refused on stderr: %s %s %s %s', async (...args) => {
    const { stdout, stderr, error } = await run(...args)
    expect(isAnswered(error)).toBe(true)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^error: /)
  })

  it.each([
    ['--json', 'shards'],
    ['shards', '--json'],
    ['account', 'show', '--json', '--tenant', 't', 'k'],
    ['account', '--json', 'show', '--tenant', 't', 'k'],
  ])('takes --json before a command and after it: %s %s %s', async (...args) => {
    // Missing variables are what remains to be found wrong.
    expect((await run(...args)).error).toBeInstanceOf(ConfigError)
  })

  it('names every missing variable at once', async () => {
    const { error } = await run('shards')
    expect(error).toBeInstanceOf(ConfigError)
    expect(explain(error)).toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining('ONCELEDGER_KAFKA_BROKERS is missing') as string,
    })
  })
})

describe('a command line', () => {
  it('[IDN-1] is one CloudEvent with the identities given, and a fresh event id', () => {
    const line = commandLine(
      { type: 'deposit.v1', tenant: 't', key: 'k', operation: 'o', data: '{"amount":"9007199254740993","currency":"EUR"}' },
      1_700_000_000_000,
    )
    const event = JSON.parse(line) as Record<string, unknown>
    expect(event).toMatchObject({
      type: 'onceledger.deposit.v1',
      operationid: 'o',
      partitionkey: 't/k',
      data: { amount: '9007199254740993' },
    })
    expect(event['id']).toMatch(/^018bcfe5-6800-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it.each(['{', '[]', '{"amount":100}'])('[IDN-5] is refused with the data %s', (data) => {
    expect(() => commandLine({ type: 'deposit.v1', tenant: 't', key: 'k', data }, 0)).toThrow(CommandFailed)
  })
})

describe('the answer to an error', () => {
  it.each<[unknown, number]>([
    [new CommandFailed(EXIT.finding, 'x'), EXIT.finding],
    [new StoreMisconfigured('SCHEMA_OLD', 'x'), EXIT.usage],
    [new StoreUnavailable('1213', 'x'), EXIT.unreachable],
    [new CommandLogError('REQUEST_FAILED', 'x'), EXIT.unreachable],
    [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), EXIT.unreachable],
    [Object.assign(new Error('x'), { code: 'PROTOCOL_SEQUENCE_TIMEOUT' }), EXIT.unreachable],
    [Object.assign(new Error('x'), { code: 'ER_BAD_DB_ERROR', errno: 1049 }), EXIT.usage],
    [Object.assign(new Error('x'), { code: 'ER_NO_SUCH_TABLE', errno: 1146 }), EXIT.usage],
    [Object.assign(new Error('x'), { code: 'ER_ACCESS_DENIED_ERROR', errno: 1045 }), EXIT.usage],
    [Object.assign(new Error('x'), { code: 'ENOSPC', errno: -28, syscall: 'write' }), EXIT.usage],
    [new CommandLogError('TOPIC_UNKNOWN', 'x'), EXIT.usage],
    [new ShardMapError('SHARD_COUNT_INVALID', 'x'), EXIT.usage],
    [new CorruptData('VERDICT_UNKNOWN', 'x'), EXIT.finding],
    [new TypeError('x'), EXIT.internal],
  ])('%s ends with code %i', (error, exitCode) => {
    expect(explain(error).exitCode).toBe(exitCode)
  })

  it('never shows a password', () => {
    expect(explain(new Error('cannot reach mysql://root:hunter2@h:1/x')).message.split('\n')[0]).not.toContain('hunter2')
  })
})

describe('output', () => {
  it('[IDN-5] writes whole numbers of any size as text', () => {
    expect(toJson({ amount: 2n ** 53n + 1n, by: new Map([['a', 1]]) })).toBe(
      '{\n  "amount": "9007199254740993",\n  "by": {\n    "a": 1\n  }\n}',
    )
  })

  it('is for a person or for a program, never both', () => {
    for (const json of [true, false]) {
      let text = ''
      createOutput(json, { stdout: { write: (part) => (text += part) }, stderr: { write: () => true } }).result({ a: 1 }, () => ['a is 1'])
      expect(text).toBe(json ? '{\n  "a": 1\n}\n' : 'a is 1\n')
    }
  })

  it('lets no key or refused message steer the terminal', () => {
    let text = ''
    const streams = { stdout: { write: (part: string) => (text += part) }, stderr: { write: (part: string) => (text += part) } }
    const output = createOutput(false, streams)
    output.result({}, () => ['a\u001b[2Jb\nc'])
    output.note('d\u202ee')
    expect(text).toBe('a\\u001b[2Jb\\u000ac\nd\\u202ee\n')
  })

  it('aligns tables', () => {
    expect(
      toTable([
        ['a', 'long'],
        ['wide', 'b'],
      ]),
    ).toEqual(['a     long', 'wide  b'])
  })
})

describe('the configuration', () => {
  it('finds the control schema beside the first shard', () => {
    const config = readConfig({ ONCELEDGER_MYSQL_URLS: 'mysql://a:b@h:1/x,mysql://a:b@h:2/y', ONCELEDGER_KAFKA_BROKERS: 'h:9' })
    expect(config.controlUrl).toBe('mysql://a:b@h:1/x_control')
  })
})
