import { ConfigError } from '@onceledger/runtime'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../src/config.ts'
import { findTopicFault } from '../src/topic-check.ts'

const GIVEN = {
  ONCELEDGER_SHARD: '1',
  ONCELEDGER_MYSQL_URLS: 'mysql://a:b@h:1/x,mysql://a:b@h:2/x',
  ONCELEDGER_KAFKA_BROKERS: 'h:9092',
}

describe('the configuration of a shard process', () => {
  it('needs three variables and has defaults for the rest', () => {
    expect(readConfig(GIVEN)).toMatchObject({ shard: 1, connections: 4, batchRecords: 1_000, adminPort: 9_464, startFrom: 'applied' })
  })

  it('lists all faults at once', () => {
    expect(() => readConfig({ ONCELEDGER_SHARD: 'one', ONCELEDGER_CONNECTIONS: '0' })).toThrow(ConfigError)
    expect(() => readConfig({ ONCELEDGER_SHARD: 'one', ONCELEDGER_CONNECTIONS: '0' })).toThrow(/4 faults/)
  })
})

describe('the topic', () => {
  const described = {
    topic: 't',
    partitions: 8,
    replicas: 1,
    cleanupPolicy: 'delete',
    retentionMs: -1n,
    retentionBytes: -1n,
    maxMessageBytes: 1n,
    minInsyncReplicas: 1,
  }
  const faultOf = (changed: Partial<typeof described>): Promise<string | null> =>
    findTopicFault({ describeTopic: () => Promise.resolve({ ...described, ...changed }) }, { topic: 't', bucketCount: 8 })

  it('[RTE-1] must have as many partitions as the ledger has buckets', async () => {
    expect(await faultOf({})).toBeNull()
    expect(await faultOf({ partitions: 16 })).toMatch(/16 partitions.*8 buckets/)
  })

  it('must not be compacted', async () => {
    expect(await faultOf({ cleanupPolicy: 'compact' })).toMatch(/compact/)
  })
})
