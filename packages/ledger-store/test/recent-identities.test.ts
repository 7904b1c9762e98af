import { describe, expect, it } from 'vitest'
import { RecentIdentities } from '../src/recent-identities.ts'
import { command } from './builders.ts'

const at = (i: number): ReturnType<typeof command> => command({ offset: BigInt(i) })

describe('recent identities', () => {
  it('[ADJ-2] know an event or an operation that was committed lately', () => {
    const recent = new RecentIdentities()
    recent.add([at(1)])
    expect(recent.hasAny([at(2)])).toBe(false)
    expect(recent.hasAny([at(2), at(1)])).toBe(true)
    expect(recent.hasAny([command({ eventId: 'another', operationId: 'operation-1' })])).toBe(true)
    expect(recent.hasAny([command({ eventId: 'event-1', operationId: 'another' })])).toBe(true)
  })

  it('keep the latest, rarely mistake a stranger for one of them, and let the oldest go', () => {
    const recent = new RecentIdentities()
    const oldest = Array.from({ length: 2_000 }, (_, i) => at(i))
    recent.add(oldest)
    // Twice as many identities as there is room for.
    const template = at(0)
    for (let i = 0; i < 600_000; i++)
      recent.add([{ ...template, eventIdHex: `00${i.toString(16).padStart(12, '0')}`, operationIdHex: null }])
    const latest = Array.from({ length: 1_000 }, (_, i) => at(10_000 + i))
    recent.add(latest)
    expect(latest.filter((each) => !recent.hasAny([each]))).toEqual([])
    const strangers = Array.from({ length: 2_000 }, (_, i) => at(1_000_000 + i))
    expect(strangers.filter((each) => recent.hasAny([each])).length).toBeLessThan(20)
    expect(oldest.filter((each) => recent.hasAny([each])).length).toBeLessThan(1_000)
  })
})
