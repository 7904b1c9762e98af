import { describe, expect, it } from 'vitest'
import { ParkingWindow } from '../src/parking-window.ts'

describe('the limit on parked messages', () => {
  it('[ADJ-10] counts each partition by itself, within the window', () => {
    let nowMs = 0
    const window = new ParkingWindow({ messages: 10, windowMs: 1_000 }, () => nowMs)
    expect(window.mayPark(1, 8)).toBe(true)
    window.parked(1, 8)
    expect(window.mayPark(1, 2)).toBe(true)
    expect(window.mayPark(2, 10)).toBe(true)
    nowMs = 1_500
    expect(window.mayPark(1, 10)).toBe(true)
  })

  it('[ADJ-10] stops a partition for good when one more batch would pass it, and says what to do', () => {
    let nowMs = 0
    const window = new ParkingWindow({ messages: 10, windowMs: 1_000 }, () => nowMs)
    window.parked(1, 8)
    expect(window.mayPark(1, 3)).toBe(false)
    expect(window.stoppedFor(1)).toMatch(/8 messages parked and 3 more[\s\S]*ONCELEDGER_PARKED_MAX/)
    nowMs = 100_000
    expect(window.mayPark(1, 1)).toBe(false)
    expect(window.stoppedFor(2)).toBeNull()
  })
})
