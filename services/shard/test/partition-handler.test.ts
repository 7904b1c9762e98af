import { createContractRegistry, encodeCommand, MONEY_CONTRACTS, type SourceRecord } from '@onceledger/core'
import { type Adjudicator, type Batch, type BatchOutcome, StoreUnavailable } from '@onceledger/ledger-store'
import { bucketOf } from '@onceledger/shard-map'
import { describe, expect, it } from 'vitest'
import { ParkingWindow } from '../src/parking-window.ts'
import { createPartitionHandler } from '../src/partition-handler.ts'
import { PartitionTurns } from '../src/turns.ts'

const BUCKETS = 8
const PARTITION = bucketOf('bank', 'anna', BUCKETS)

function recordAt(offset: bigint, value: string): SourceRecord {
  const headers = [['content-type', Buffer.from('application/cloudevents+json')]] as const
  return {
    position: { topic: 't', partition: PARTITION, offset },
    key: Buffer.from('bank/anna'),
    value: Buffer.from(value),
    headers,
    timestampMs: 0n,
  }
}

const deposit = encodeCommand({
  type: 'deposit.v1',
  tenantId: 'bank',
  businessKey: 'anna',
  eventId: '0190a000-0000-7000-8000-000000000001',
  operationId: 'pay-1',
  source: '/test',
  data: { amount: '100', currency: 'EUR' },
}).value

function handlerFor(judge: (batch: Batch) => Promise<BatchOutcome>): ReturnType<typeof createPartitionHandler> {
  const adjudicator: Adjudicator = { judge }
  return createPartitionHandler({
    adjudicator,
    registry: createContractRegistry(MONEY_CONTRACTS),
    bucketCount: BUCKETS,
    redelivery: false,
    fresh: new Set(),
    turns: new PartitionTurns(),
    parking: new ParkingWindow({ messages: 10, windowMs: 1_000 }, () => 0),
    results: null,
    onCommitted: () => {},
  })
}

const records = [recordAt(5n, deposit), recordAt(7n, 'rubbish')]
const batch = { topic: 't', partition: PARTITION, expectedOffset: 5n, records }

describe('the partition handler', () => {
  it('[ADJ-8] gives the whole batch with its positions to one adjudication, rubbish included', async () => {
    const given: Batch[] = []
    const outcome = await handlerFor((each) => {
      given.push(each)
      return Promise.resolve({ kind: 'committed', judgements: [], results: [], more: false, nextOffset: 8n })
    })(batch)
    expect(outcome).toEqual({ kind: 'done', nextOffset: 8n })
    expect(given[0]?.items.map(({ kind }) => kind)).toEqual(['command', 'refused'])
    expect(given[0]?.source).toMatchObject({ expectedOffset: 5n, nextOffset: 8n, partition: PARTITION })
    expect(given[0]?.buckets).toEqual([PARTITION])
  })

  it("[ADJ-8] goes where the database's own position is", async () => {
    const lastDigest = Buffer.alloc(32)
    const outcome = await handlerFor(() => Promise.resolve({ kind: 'position', nextOffset: 3n, lastDigest }))(batch)
    expect(outcome).toEqual({ kind: 'seek', nextOffset: 3n, lastDigest })
  })

  it('[ADJ-8] waits for its position to be asked for again where the database has lost it', async () => {
    const outcome = await handlerFor(() => Promise.resolve({ kind: 'no-position' }))(batch)
    expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringContaining('lost its position') as string })
  })

  it('[RTE-2] waits, and says why, where the bucket is not its own', async () => {
    const outcome = await handlerFor(() => Promise.resolve({ kind: 'not-owner', bucket: 3, state: 'FROZEN' }))(batch)
    expect(outcome).toMatchObject({ kind: 'pause', reason: "bucket 3 is FROZEN in this shard's database" })
  })

  it('[ADJ-4] waits where the database cannot judge, and parks nothing for it', async () => {
    const outcome = await handlerFor(() => Promise.reject(new StoreUnavailable('1213', 'spent')))(batch)
    expect(outcome).toMatchObject({ kind: 'pause', reason: '1213: spent' })
  })

  it('lets an unknown error through, so that the log backs off and reports it', async () => {
    await expect(handlerFor(() => Promise.reject(new RangeError('bug')))(batch)).rejects.toThrow('bug')
  })
})
