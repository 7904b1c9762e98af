import type { PlacedRecord } from '@onceledger/command-log'
import { waitFor } from '@onceledger/runtime'
import { describe, expect, it } from 'vitest'
import { PackedResults } from '../src/results/packed-results.ts'
import { ResultRelay } from '../src/results/relay.ts'

interface Wire {
  readonly sent: PlacedRecord[][]
  /** Calls that are under way wait for this to be resolved. */
  gate: Promise<void>
  failures: number
}

function relayOn(wire: Wire, faults: (string | null)[] = []): ResultRelay {
  return new ResultRelay({
    topic: 'results',
    failpoints: { hit: () => undefined },
    random: () => 0,
    onState: (fault) => void faults.push(fault),
    onPublished: () => {},
    onPending: () => {},
    producer: {
      async send(_topic, records) {
        await wire.gate
        if (wire.failures-- > 0) throw new Error('not now')
        wire.sent.push([...records])
      },
    },
  })
}

const wire = (): Wire => ({ sent: [], gate: Promise.resolve(), failures: 0 })

function pack(values: readonly string[], outbox: readonly (bigint | null)[] = []): PackedResults {
  return PackedResults.of(
    values.map((value, i) => ({ value, outboxOf: outbox[i] ?? null })),
    ({ value }) => ({ key: `key of ${value}`, value }),
    ({ outboxOf }) => outboxOf,
  )
}

const valuesOf = (sent: readonly PlacedRecord[][]): string[] => sent.flat().map(({ value }) => Buffer.from(value).toString())

describe('packed results', () => {
  it('come out as they went in, whatever their bytes', () => {
    const long = 'x'.repeat(300_000)
    const items = [
      { key: 'a', value: 'plain' },
      { key: null, value: 'čeněk 🦄' },
      { key: Buffer.from([0xff, 0]), value: long },
      { key: '', value: '' },
    ]
    const packed = PackedResults.of(
      items,
      (item) => item,
      (item) => (item.value === 'plain' ? 7n : null),
    )
    expect(packed.count).toBe(4)
    expect(packed.outbox).toEqual([7n])
    const records = packed.records(3)
    expect(records.map(({ key }) => (key === null ? null : Buffer.from(key)))).toEqual(
      items.map(({ key }) => (key === null ? null : Buffer.from(key))),
    )
    expect(records.map(({ value }) => Buffer.from(value).toString())).toEqual(items.map(({ value }) => value))
    expect(records.every(({ partition }) => partition === 3)).toBe(true)
  })
})

describe('the relay', () => {
  it('sends in the order of the commits and tells what was acknowledged until the database remembers it', async () => {
    const log = wire()
    const relay = relayOn(log)
    relay.enqueue(1, { results: pack(['a', 'b']), publishedTo: 2n })
    relay.enqueue(2, { results: pack(['x'], [5n]), publishedTo: 9n })
    relay.enqueue(1, { results: pack(['c']), publishedTo: 3n })
    await relay.drained()
    expect(valuesOf(log.sent).filter((value) => value !== 'x')).toEqual(['a', 'b', 'c'])
    expect(new Set(relay.unremembered())).toEqual(new Set([1, 2]))
    const published = relay.published(1)
    expect(published).toEqual({ nextOffset: 3n, outbox: [] })
    relay.remembered(1, published)
    expect(relay.published(1)).toBeUndefined()
    expect(relay.published(2)).toEqual({ nextOffset: 9n, outbox: [5n] })
  })

  it('forgets no row of the outbox that was acknowledged while an earlier one was being remembered', async () => {
    const relay = relayOn(wire())
    relay.enqueue(1, { results: pack(['a'], [5n]), publishedTo: 6n })
    await relay.drained()
    const first = relay.published(1)
    relay.enqueue(1, { results: pack(['b'], [7n]), publishedTo: 0n })
    await relay.drained()
    relay.remembered(1, first)
    expect(relay.published(1)).toEqual({ nextOffset: 6n, outbox: [7n] })
  })

  it('sends again what the topic did not take, says why meanwhile, and drops nothing', async () => {
    const log = wire()
    log.failures = 2
    const faults: (string | null)[] = []
    const relay = relayOn(log, faults)
    relay.enqueue(1, { results: pack(['a']), publishedTo: 1n })
    relay.enqueue(1, { results: pack(['b']), publishedTo: 2n })
    await relay.drained()
    expect(valuesOf(log.sent)).toEqual(['a', 'b'])
    expect(faults.slice(0, 3)).toEqual(['not now', 'not now', null])
    expect(relay.pending).toBe(0)
  })

  it('of a partition that was taken away sends nothing more, and does not remember what comes back late', async () => {
    const log = wire()
    const open = Promise.withResolvers<void>()
    log.gate = open.promise
    const relay = relayOn(log)
    relay.enqueue(1, { results: pack(['under way']), publishedTo: 1n })
    relay.enqueue(1, { results: pack(['waiting']), publishedTo: 2n })
    relay.enqueue(2, { results: pack(['other']), publishedTo: 8n })
    relay.forget(1)
    open.resolve()
    await relay.drained()
    expect(valuesOf(log.sent)).toEqual(['under way', 'other'])
    expect(relay.unremembered()).toEqual([2])
    expect(relay.pending).toBe(0)
  })

  it('holds up the partitions when too much waits, for no longer than the time', async () => {
    const log = wire()
    const open = Promise.withResolvers<void>()
    log.gate = open.promise
    const relay = relayOn(log)
    relay.enqueue(1, { results: pack(Array.from({ length: 9_000 }, String)), publishedTo: 9_000n })
    expect(await relay.room(5)).toBe(false)
    const room = relay.room(10_000)
    open.resolve()
    expect(await room).toBe(true)
    await relay.drained()
  })

  it('ends its retries when it is stopped', async () => {
    const log = wire()
    log.failures = 1_000
    const faults: (string | null)[] = []
    const relay = relayOn(log, faults)
    relay.enqueue(1, { results: pack(['a']), publishedTo: 1n })
    await waitFor(() => faults.length > 0, { timeoutMs: 5_000, what: 'a failure' })
    relay.stop()
    await relay.drained()
    expect(relay.published(1)).toBeUndefined()
  })
})
