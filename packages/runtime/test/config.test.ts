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
    expect(faults[1]).toBe('URLS is missing')
  })

  it('counts an empty variable as absent', () => {
    expect(faultsOf({ ...GOOD, SHARD: '' })).toEqual(['SHARD is missing'])
  })

  it('never shows a password', () => {
    expect(faultsOf({ ...GOOD, URLS: 'mysql://root:hunter2@h:1' }).join()).not.toContain('hunter2')
    expect(maskSecret('S3_SECRET_KEY', 'hunter2')).toBe('***')
  })

  it.each(['-1', '10', '1.5', '1e1', '0x1', ' 1', '99999999999999999999'])('refuses %s as a shard number', (SHARD) => {
    expect(faultsOf({ ...GOOD, SHARD })).toHaveLength(1)
  })
})
