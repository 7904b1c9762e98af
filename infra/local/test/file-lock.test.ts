import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { withFileLock } from '../src/file-lock.ts'

describe('file lock', () => {
  let dir = ''
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'onceledger-lock-'))
  })
  afterEach(() => {
    rmSync(dir, { recursive: true })
  })

  test('lets one in at a time, tells the one that waits, and is free afterwards', async () => {
    const path = join(dir, 'lock')
    const events: string[] = []
    const second = Promise.withResolvers<void>()
    await withFileLock(path, { timeoutMs: 1_000 }, async () => {
      events.push('first')
      const isWaiting = Promise.withResolvers<void>()
      const options = { timeoutMs: 5_000, onWait: () => isWaiting.resolve() }
      second.resolve(
        withFileLock(path, options, async () => {
          events.push('second')
        }),
      )
      await isWaiting.promise
      events.push('second waits')
    })
    await second.promise
    expect(events).toEqual(['first', 'second waits', 'second'])
    expect(readdirSync(dir)).toEqual(['lock'])
  })

  test('gives up after its time', async () => {
    const path = join(dir, 'lock')
    await withFileLock(path, { timeoutMs: 1_000 }, async () => {
      await expect(withFileLock(path, { timeoutMs: 50 }, async () => undefined)).rejects.toThrow(
        expect.objectContaining({ code: 'LOCK_TIMEOUT' }),
      )
    })
  })

  test('is let go when the work fails', async () => {
    const path = join(dir, 'lock')
    const fault = new Error('work failed')
    const work = () => Promise.reject(fault)
    await expect(withFileLock(path, { timeoutMs: 1_000 }, work)).rejects.toBe(fault)
    expect(await withFileLock(path, { timeoutMs: 50 }, async () => 'free')).toBe('free')
  })
})
