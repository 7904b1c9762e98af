import { recordDigest } from '@onceledger/core'
import { describe, expect, it, vi } from 'vitest'
import type { HandleOutcome, PartitionBatch } from '../src/batch.ts'
import type { LogBounds, StartPosition } from '../src/chain.ts'
import type { PartitionState } from '../src/lane.ts'
import { SILENT_LOGGER, SILENT_METRICS } from '../src/observer.ts'
import { PartitionDesk, type PartitionDeskOptions } from '../src/partition-desk.ts'
import type { Timers } from '../src/timers.ts'
import { recordAt, recordsFrom, TOPIC } from './records.ts'

/** Time that moves only when a test says so. */
class ManualTimers implements Timers {
  #nowMs = 0
  #due: { atMs: number; run: () => void }[] = []

  nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, run: () => void): () => void {
    const entry = { atMs: this.#nowMs + delayMs, run }
    this.#due.push(entry)
    return () => {
      this.#due = this.#due.filter((other) => other !== entry)
    }
  }

  async pass(ms: number): Promise<void> {
    this.#nowMs += ms
    const due = this.#due.filter(({ atMs }) => atMs <= this.#nowMs)
    this.#due = this.#due.filter(({ atMs }) => atMs > this.#nowMs)
    for (const { run } of due) run()
    await settle()
  }
}

/** Lets every promise that can settle do so. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}

interface Call {
  readonly batch: PartitionBatch
  readonly signal: AbortSignal
  readonly end: (outcome: HandleOutcome | Error) => Promise<void>
}

function desk(given: Partial<PartitionDeskOptions> = {}, limits: Partial<PartitionDeskOptions['limits']> = {}) {
  const calls: Call[] = []
  const states: [number, PartitionState][] = []
  const timers = new ManualTimers()
  const bounds = new Map<number, LogBounds>()
  const control = {
    pause: vi.fn<(partitions: readonly number[]) => void>(),
    resume: vi.fn<(partitions: readonly number[]) => void>(),
    seek: vi.fn<(partition: number, offset: bigint) => void>(),
    bounds: async (partition: number) => bounds.get(partition) ?? { low: 0n, high: 1000n },
    groupOffset: async () => null,
  }
  const finished = vi.fn<(partition: number, nextOffset: bigint) => void>()
  const subject = new PartitionDesk({
    topic: TOPIC,
    limits: { maxBatchRecords: 10, maxBatchBytes: 1e6, maxQueuedRecords: 20, maxQueuedBytes: 1e6, maxConcurrentBatches: 2, ...limits },
    startOf: async () => ({ kind: 'beginning' }),
    handle: (batch, signal) =>
      new Promise((resolve, reject) => {
        const end = async (outcome: HandleOutcome | Error): Promise<void> => {
          if (outcome instanceof Error) reject(outcome)
          else resolve(outcome)
          await settle()
        }
        calls.push({ batch, signal, end })
      }),
    onPartitionState: (partition, state) => states.push([partition, state]),
    onFinished: finished,
    control,
    logger: SILENT_LOGGER,
    metrics: SILENT_METRICS,
    timers,
    random: () => 1,
    ...given,
  })
  const deliver = (partition: number, from: number, to: number, fetchedFrom = from): Promise<boolean> =>
    subject.accept({
      partition,
      fetchedOffset: BigInt(fetchedFrom),
      lastOffset: BigInt(to - 1),
      highWatermark: 1000n,
      records: recordsFrom(from, to, partition),
    })
  const stateOf = (partition: number) => states.findLast(([at]) => at === partition)?.[1]
  const call = (at: number): Call => {
    const found = calls[at]
    if (found === undefined) throw new Error(`no call ${at}`)
    return found
  }
  return { subject, calls, call, states, stateOf, timers, bounds, control, finished, deliver }
}

async function assigned(test: ReturnType<typeof desk>, partitions: readonly number[]): Promise<void> {
  test.subject.assign(partitions)
  await settle()
}

function offsets({ batch }: Call): number[] {
  return batch.records.map(({ position }) => Number(position.offset))
}

const DONE = (nextOffset: number): HandleOutcome => ({ kind: 'done', nextOffset: BigInt(nextOffset) })

describe('an assignment', () => {
  it('[ADJ-8] pauses at once, asks for the position, seeks, and only then reads', async () => {
    const start = Promise.withResolvers<StartPosition>()
    const test = desk({ startOf: () => start.promise })
    await assigned(test, [3])
    expect(test.control.pause).toHaveBeenCalledWith([3])
    expect(await test.deliver(3, 0, 5)).toBe(false)
    start.resolve({ kind: 'applied', nextOffset: 7n, lastDigest: null })
    await settle()
    expect(test.control.seek).toHaveBeenCalledWith(3, 7n)
    expect(test.control.resume).toHaveBeenCalledWith([3])
    expect(await test.deliver(3, 7, 9)).toBe(true)
    expect(test.call(0).batch.expectedOffset).toBe(7n)
  })

  it('[ADJ-4] a failing startOf pauses the partition and is asked again', async () => {
    let asked = 0
    const test = desk({
      startOf: async () => {
        asked += 1
        if (asked < 3) throw new Error('database away')
        return { kind: 'beginning' }
      },
    })
    await assigned(test, [0])
    expect(test.stateOf(0)).toEqual({ state: 'paused', reason: 'start position unknown: Error: database away' })
    await test.timers.pass(100)
    await test.timers.pass(200)
    expect(test.stateOf(0)?.state).toBe('running')
  })

  it('[ADJ-8] a revoked partition hands out nothing more, and the outcome of its batch is ignored', async () => {
    const test = desk()
    await assigned(test, [0])
    await test.deliver(0, 0, 15)
    await assigned(test, [1])
    expect(test.call(0).signal.aborted).toBe(true)
    await test.call(0).end(DONE(10))
    expect(test.calls.length).toBe(1)
    expect(test.finished).not.toHaveBeenCalled()
    expect(test.stateOf(0)?.state).toBe('revoked')
  })

  it('[ADJ-8] a partition kept over a rebalance starts only after its batch in flight has ended, which is not interrupted', async () => {
    let applied = 0n
    const test = desk({ startOf: async () => ({ kind: 'applied', nextOffset: applied, lastDigest: null }) })
    await assigned(test, [0])
    await test.deliver(0, 0, 15)
    await assigned(test, [0])
    expect(await test.deliver(0, 0, 15)).toBe(false)
    expect(test.control.seek).toHaveBeenCalledTimes(1)
    expect(test.call(0).signal.aborted).toBe(false)
    applied = 10n
    await test.call(0).end(DONE(10))
    expect(test.control.seek).toHaveBeenLastCalledWith(0, 10n)
    await test.deliver(0, 10, 15)
    expect(offsets(test.call(1))).toEqual([10, 11, 12, 13, 14])
  })

  it('a position beyond the end is believed only when it stays there', async () => {
    const test = desk({ startOf: async () => ({ kind: 'applied', nextOffset: 50n, lastDigest: null }) })
    test.bounds.set(0, { low: 0n, high: 40n })
    await assigned(test, [0])
    expect(test.stateOf(0)?.state).toBe('assigned')
    test.bounds.set(0, { low: 0n, high: 50n })
    await test.timers.pass(1000)
    expect(test.stateOf(0)?.state).toBe('running')
  })
})

describe('batches', () => {
  it('[ADJ-8] one batch of a partition at a time, from the finished prefix on', async () => {
    const test = desk()
    await assigned(test, [0])
    await test.deliver(0, 0, 12)
    expect(test.calls.length).toBe(1)
    await test.call(0).end(DONE(4))
    expect(test.finished).toHaveBeenLastCalledWith(0, 4n)
    expect(offsets(test.call(1))).toEqual([4, 5, 6, 7, 8, 9, 10, 11])
    expect(test.call(1).batch.expectedOffset).toBe(4n)
  })

  it('partitions take turns within the limit of batches at once', async () => {
    const test = desk()
    await assigned(test, [0, 1, 2])
    for (const partition of [0, 1, 2]) await test.deliver(partition, 0, 20)
    expect(test.calls.map(({ batch }) => batch.partition)).toEqual([0, 1])
    await test.call(0).end(DONE(10))
    await test.call(1).end(DONE(10))
    expect(test.calls.map(({ batch }) => batch.partition)).toEqual([0, 1, 2, 0])
  })

  it('[ADJ-8] pause hands the same records out again after the delay, while others go on', async () => {
    const test = desk()
    await assigned(test, [0, 1])
    await test.deliver(0, 0, 5)
    await test.call(0).end({ kind: 'pause', retryAfterMs: 500, reason: 'database away' })
    expect(test.stateOf(0)).toEqual({ state: 'paused', reason: 'database away' })
    await test.deliver(1, 0, 5)
    await test.call(1).end(DONE(5))
    expect(test.calls.length).toBe(2)
    await test.timers.pass(500)
    expect(offsets(test.call(2))).toEqual([0, 1, 2, 3, 4])
    await test.call(2).end(DONE(5))
    expect(test.stateOf(0)).toEqual({ state: 'running', reason: null })
  })

  it.each([
    ['a thrown error', new Error('fault')],
    ['an outcome beyond the batch', DONE(99)],
    ['an outcome that finished nothing', DONE(0)],
  ])('[ADJ-4] %s pauses with a growing delay and loses nothing', async (_, outcome) => {
    const test = desk()
    await assigned(test, [0])
    await test.deliver(0, 0, 5)
    await test.call(0).end(outcome)
    expect(test.stateOf(0)?.state).toBe('paused')
    await test.timers.pass(100)
    await test.call(1).end(outcome)
    await test.timers.pass(199)
    expect(test.calls.length).toBe(2)
    await test.timers.pass(1)
    expect(offsets(test.call(2))).toEqual([0, 1, 2, 3, 4])
    expect(test.finished).not.toHaveBeenCalled()
  })

  it('[ADJ-8] seek drops what is queued and verifies the record before the new position', async () => {
    const applied = { kind: 'applied', nextOffset: 4n, lastDigest: recordDigest(recordAt(3)) } as const
    let start: StartPosition = { kind: 'beginning' }
    const test = desk({ startOf: async () => start })
    await assigned(test, [0])
    await test.deliver(0, 0, 15)
    start = applied
    await test.call(0).end({ kind: 'seek', nextOffset: 4n, lastDigest: applied.lastDigest })
    expect(test.control.seek).toHaveBeenLastCalledWith(0, 3n)
    expect(await test.deliver(0, 15, 20)).toBe(false)
    await settle()
    await test.deliver(0, 3, 8)
    expect(offsets(test.call(1))).toEqual([4, 5, 6, 7])
  })
})

describe('what is fetched', () => {
  it('[ADJ-8] another record before the position breaks the partition, and the others go on', async () => {
    const test = desk({ startOf: async () => ({ kind: 'applied', nextOffset: 5n, lastDigest: recordDigest(recordAt(4, 'another')) }) })
    await assigned(test, [0, 1])
    expect(await test.deliver(0, 4, 9)).toBe(false)
    expect(test.stateOf(0)).toEqual({ state: 'broken', reason: expect.stringContaining('DIGEST_MISMATCH') })
    expect(test.stateOf(1)?.state).toBe('assigned')
    expect(test.calls).toEqual([])
  })

  it('[ADJ-8] a hole between offsets is read over', async () => {
    const test = desk()
    await assigned(test, [0])
    await test.deliver(0, 0, 3)
    expect(await test.deliver(0, 5, 7, 3)).toBe(true)
    await test.call(0).end(DONE(3))
    expect(offsets(test.call(1))).toEqual([5, 6])
    expect(test.call(1).batch.expectedOffset).toBe(3n)
  })

  it('[ADJ-8] records that retention took before they were read break the partition', async () => {
    const test = desk()
    await assigned(test, [0])
    await test.deliver(0, 0, 3)
    test.bounds.set(0, { low: 5n, high: 1000n })
    expect(await test.deliver(0, 5, 7)).toBe(false)
    expect(test.stateOf(0)).toEqual({ state: 'broken', reason: expect.stringContaining('LOST_BY_RETENTION') })
  })

  it('[ADJ-8] an answer from ahead of the position is not taken for a hole', async () => {
    const test = desk({ startOf: async () => ({ kind: 'applied', nextOffset: 4n, lastDigest: null }) })
    await assigned(test, [0])
    expect(await test.deliver(0, 15, 20)).toBe(false)
    await settle()
    expect(test.control.seek).toHaveBeenLastCalledWith(0, 4n)
    expect(test.stateOf(0)?.state).toBe('running')
    expect(await test.deliver(0, 4, 9)).toBe(true)
  })

  it('[ADJ-8] a client that lost the position does not read on at it: the record before it is compared first', async () => {
    const test = desk({ startOf: async () => ({ kind: 'applied', nextOffset: 15n, lastDigest: recordDigest(recordAt(14)) }) })
    await assigned(test, [0])
    await test.deliver(0, 14, 20)
    await test.call(0).end(DONE(20))
    // As kafkajs does when the topic was created again and was shorter for a moment; by now it is longer than before.
    expect(await test.deliver(0, 0, 30)).toBe(false)
    await settle()
    expect(test.control.seek).toHaveBeenLastCalledWith(0, 14n)
    const again = recordsFrom(14, 30, 0).map((record) => ({ ...record, value: Buffer.from('another') }))
    const delivery = { partition: 0, fetchedOffset: 14n, lastOffset: 29n, highWatermark: 30n, records: again }
    expect(await test.subject.accept(delivery)).toBe(false)
    expect(test.stateOf(0)).toEqual({ state: 'broken', reason: expect.stringContaining('DIGEST_MISMATCH') })
    expect(test.calls.length).toBe(1)
  })

  it('[ADJ-8] a partition that starts again goes by the database, not by the batch that was in flight', async () => {
    let nextOffset = 0n
    const test = desk({ startOf: async () => ({ kind: 'applied', nextOffset, lastDigest: null }) })
    await assigned(test, [0])
    await test.deliver(0, 0, 15)
    test.subject.restart(0)
    nextOffset = 7n
    await test.call(0).end({ kind: 'seek', nextOffset: 3n, lastDigest: null })
    expect(test.control.seek.mock.calls).toEqual([
      [0, 0n],
      [0, 7n],
    ])
    expect(await test.deliver(0, 7, 9)).toBe(true)
    expect(offsets(test.call(1))).toEqual([7, 8])
  })

  it('[ADJ-8] a partition that broke while a batch was in flight stays reported as broken', async () => {
    const test = desk()
    await assigned(test, [0])
    await test.deliver(0, 0, 15)
    test.bounds.set(0, { low: 20n, high: 1000n })
    await test.subject.refreshBounds()
    await test.call(0).end(DONE(10))
    expect(test.stateOf(0)?.state).toBe('broken')
  })

  it('[ADJ-8] a log whose end moved back is not read on from before its chain was checked', async () => {
    const test = desk({ startOf: async () => ({ kind: 'applied', nextOffset: 15n, lastDigest: null }) })
    await assigned(test, [0])
    test.bounds.set(0, { low: 0n, high: 8n })
    await test.subject.refreshBounds()
    for (let check = 0; check < 2; check++) {
      await settle()
      await test.timers.pass(1_000)
    }
    expect(test.stateOf(0)).toEqual({ state: 'broken', reason: expect.stringContaining('BEYOND_END') })
  })

  it('[ADJ-8] retention that takes the last applied record while it is awaited is a warning, not a break', async () => {
    const test = desk({ startOf: async () => ({ kind: 'applied', nextOffset: 5n, lastDigest: recordDigest(recordAt(4)) }) })
    await assigned(test, [0])
    test.bounds.set(0, { low: 5n, high: 1000n })
    expect(await test.deliver(0, 5, 9)).toBe(false)
    await settle()
    expect(test.control.seek).toHaveBeenLastCalledWith(0, 5n)
    expect(await test.deliver(0, 5, 9)).toBe(true)
    expect(test.call(0).batch.expectedOffset).toBe(5n)
  })

  it('[ADJ-8] records lost by retention are told even when nothing arrives', async () => {
    const test = desk()
    await assigned(test, [0])
    test.bounds.set(0, { low: 7n, high: 7n })
    await test.subject.refreshBounds()
    expect(test.stateOf(0)).toEqual({ state: 'broken', reason: expect.stringContaining('LOST_BY_RETENTION') })
  })

  it('[ADJ-8] a log that became shorter breaks the partition', async () => {
    const test = desk()
    await assigned(test, [0])
    await test.deliver(0, 0, 15)
    test.bounds.set(0, { low: 0n, high: 8n })
    expect(await test.deliver(0, 0, 8)).toBe(false)
    expect(test.stateOf(0)).toEqual({ state: 'broken', reason: expect.stringContaining('BEYOND_END') })
  })

  it('[ADJ-8] a delivery from an old place is put back, a bounded number of times', async () => {
    const test = desk({ startOf: async () => ({ kind: 'applied', nextOffset: 15n, lastDigest: null }) })
    await assigned(test, [0])
    for (let time = 0; time < 5; time++) {
      expect(await test.deliver(0, 0, 15)).toBe(false)
      await settle()
      expect(test.control.seek).toHaveBeenLastCalledWith(0, 15n)
    }
    await test.deliver(0, 0, 15)
    expect(test.stateOf(0)).toEqual({ state: 'broken', reason: expect.stringContaining('POSITION_UNREADABLE') })
  })

  it('a full queue pauses its partition and a half empty one resumes it', async () => {
    const test = desk()
    await assigned(test, [0, 1])
    await test.deliver(0, 0, 20)
    expect(test.control.pause).toHaveBeenLastCalledWith([0])
    test.control.resume.mockClear()
    await test.call(0).end(DONE(5))
    expect(test.control.resume).not.toHaveBeenCalled()
    await test.call(1).end(DONE(10))
    expect(test.control.resume).toHaveBeenCalledWith([0])
  })

  it('when all room is taken, a waiting partition gives its own back and reads again later', async () => {
    const test = desk({}, { maxQueuedBytes: 5000 })
    await assigned(test, [0, 1])
    await test.deliver(0, 0, 15)
    expect(await test.deliver(1, 0, 5)).toBe(false)
    await test.call(0).end({ kind: 'pause', retryAfterMs: 1000, reason: 'away' })
    expect(test.control.seek).toHaveBeenLastCalledWith(0, 0n)
    expect(test.control.resume).toHaveBeenLastCalledWith([1])
    expect(await test.deliver(1, 0, 5)).toBe(true)
    await test.call(1).end(DONE(5))
    await test.timers.pass(1000)
    expect(test.control.resume).toHaveBeenLastCalledWith([0])
    expect(await test.deliver(0, 0, 15)).toBe(true)
    expect(offsets(test.call(2))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('suspended, nothing new begins; what is in flight ends', async () => {
    const test = desk()
    await assigned(test, [0])
    await test.deliver(0, 0, 15)
    test.subject.suspend('brokers away')
    expect(test.stateOf(0)).toEqual({ state: 'paused', reason: 'brokers away' })
    await test.call(0).end(DONE(10))
    expect(test.finished).toHaveBeenCalledWith(0, 10n)
    expect(test.calls.length).toBe(1)
    await test.subject.drained()
  })

  it('tells position, queue and lag', async () => {
    const test = desk()
    await assigned(test, [0])
    await test.deliver(0, 0, 15)
    await test.call(0).end(DONE(10))
    expect(test.subject.stats()).toMatchObject([
      { partition: 0, phase: 'running', queuedRecords: 5, position: 10n, highWatermark: 1000n, lag: 990n },
    ])
  })
})
