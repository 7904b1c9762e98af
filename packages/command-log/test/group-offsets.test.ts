import { describe, expect, it } from 'vitest'
import { GroupOffsets } from '../src/group-offsets.ts'
import { SILENT_LOGGER, SILENT_METRICS } from '../src/observer.ts'

type Committed = readonly (readonly [number, bigint])[]

function groupOffsets(commit: (offsets: Committed) => Promise<void>) {
  const due: (() => void)[] = []
  let failures = 0
  const subject = new GroupOffsets({
    commit,
    intervalMs: 1000,
    logger: SILENT_LOGGER,
    metrics: { ...SILENT_METRICS, groupCommitFailed: () => (failures += 1) },
    timers: { nowMs: () => 0, after: (_, run) => (due.push(run), () => {}) },
  })
  return { subject, due, failures: () => failures }
}

describe('group offsets', () => {
  it('[ADJ-8] commits the last finished offset of each partition, once per interval', async () => {
    const commits: Committed[] = []
    const { subject, due } = groupOffsets(async (offsets) => void commits.push(offsets))
    subject.record(0, 5n)
    subject.record(1, 7n)
    subject.record(0, 9n)
    expect([commits.length, due.length]).toEqual([0, 1])
    due[0]?.()
    await subject.flush()
    expect(commits).toEqual([
      [
        [0, 9n],
        [1, 7n],
      ],
    ])
  })

  it('[ADJ-8] a failed commit is counted and harms nothing', async () => {
    const test = groupOffsets(async () => Promise.reject(new Error('rebalancing')))
    test.subject.record(0, 5n)
    await test.subject.flush()
    expect(test.failures()).toBe(1)
    await test.subject.flush()
    expect(test.failures()).toBe(1)
  })

  it('forgets what belongs to an old assignment', async () => {
    const commits: Committed[] = []
    const { subject } = groupOffsets(async (offsets) => void commits.push(offsets))
    subject.record(0, 5n)
    subject.clear()
    await subject.flush()
    expect(commits).toEqual([])
  })
})
