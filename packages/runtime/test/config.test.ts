import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ConfigError, env, maskSecret, parseEnv } from '../src/index.ts'

const SCHEMA = z.object({
  SHARD: env.integer({ min: 0, max: 9 }),
  URLS: env.mysqlUrls(),
  BROKERS: env.hostPorts(),
  PORT: env.port().default(9_464),
  WAIT_MS: env.durationMs({ max: 1_000 }).optional(),
  WIDE: env.boolean().default(false),
})
const GOOD = { SHARD: '3', URLS: 'mysql://a:b@h:1/x, mysql://a:b@h:2/y', BROKERS: 'h:1,h:2' }

function faultsOf(environment: Record<string, string>): readonly string[] {
  try {
    parseEnv(SCHEMA, environment)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
}

describe('parseEnv', () => {
  it('reads typed values and defaults', () => {
    expect(parseEnv(SCHEMA, GOOD)).toEqual({
      SHARD: 3,
      URLS: ['mysql://a:b@h:1/x', 'mysql://a:b@h:2/y'],
      BROKERS: ['h:1', 'h:2'],
      PORT: 9_464,
      WIDE: false,
    })
  })

  it('lists every fault at once, by variable', () => {
    const faults = faultsOf({ SHARD: 'x', BROKERS: 'nowhere', PORT: '70000', WAIT_MS: '0', WIDE: 'yes' })
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual(['SHARD', 'URLS', 'BROKERS', 'PORT', 'WAIT_MS', 'WIDE'])
    expect(faults[0]).toBe('SHARD must be a whole number from 0 to 9; it is "x"')
    expect(faults[1]).toBe('URLS is missing; it must be a comma-separated list of mysql://user:password@host:port/database')
    expect(faults[3]).toBe('PORT must lie between 0 and 65535; it is "70000"')
  })

  it('counts an empty variable as absent', () => {
    expect(faultsOf({ ...GOOD, SHARD: '' })).toEqual(['SHARD is missing; it must be a whole number from 0 to 9'])
  })

  it('says what rules about several variables say', () => {
    const schema = z
      .object({ LOW: env.port(), HIGH: env.port() })
      .refine(({ LOW, HIGH }) => LOW < HIGH, { error: 'LOW must be below HIGH' })
    expect(() => parseEnv(schema, { LOW: '2', HIGH: '1' })).toThrow(/one fault:\n {2}LOW must be below HIGH$/)
  })

  it.each([
    'mysql://root:hunter2@h:1',
    'mysql://root:hun:hunter2@h:1',
    'mysql://root:hun/hunter2@h:1',
    'mysql://root:hun@hunter2@h:1',
    'mysql://root:hun hunter2@h:1',
    'mysql://root:hunter2',
    'mysql://h:1/x, mysql://root:hunter2@h:1, mysql://root:hunter2@h:1',
    'http://h:1/x?password=hunter2',
  ])('never shows the password of %s', (URLS) => {
    const [fault] = faultsOf({ ...GOOD, URLS })
    expect(fault).toContain('***')
    expect(fault).not.toContain('hunter2')
  })

  it('shows what is no secret, and no more than a line of it', () => {
    expect(faultsOf({ ...GOOD, URLS: 'http://h:80/x' })[0]).toContain('"http://h:80/x"')
    expect(faultsOf({ ...GOOD, BROKERS: 'x'.repeat(5_000) })[0]?.length).toBeLessThan(300)
  })

  it.each(['h:0', 'h:65536', 'h', ':1', 'h:1,', '[::1]:9092', 'a:1, b:2'])('knows whether %s is a list of host:port', (BROKERS) => {
    const isList = ['h:1,', '[::1]:9092', 'a:1, b:2'].includes(BROKERS)
    expect(faultsOf({ ...GOOD, BROKERS })).toHaveLength(isList ? 0 : 1)
  })

  it.each(['-1', '10', '1.5', '1e1', '0x1', ' 1', '99999999999999999999'])('refuses %s as a shard number', (SHARD) => {
    expect(faultsOf({ ...GOOD, SHARD })).toHaveLength(1)
  })
})

describe('maskSecret', () => {
  it('hides a value by its name', () => {
    expect(maskSecret('S3_SECRET_KEY', 'hunter2')).toBe('***')
    expect(maskSecret('db_password', 'hunter2')).toBe('***')
  })

  it('hides passwords inside any text and leaves the rest', () => {
    expect(maskSecret('', 'cannot reach mysql://root:a@b@h:1/x, nor mysql://root:c@h:2/y; ask ops@example.com')).toBe(
      'cannot reach mysql://root:***@h:1/x, nor mysql://root:***@h:2/y; ask ops@example.com',
    )
  })
})
