import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseState, readState, type StackState, stateFilePath, writeState } from '../src/state-file.ts'

const STATE: StackState = {
  version: 1,
  ports: { 'mysql-0': 20_001, 'mysql-1': 20_002, kafka: 20_003, kafkaController: 20_004, s3: 20_005 },
}

describe('state file', () => {
  let dir = ''
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'onceledger-state-'))
  })
  afterEach(() => {
    rmSync(dir, { recursive: true })
  })

  test('a stack that was never started has no state', () => {
    expect(readState(join(dir, 'nowhere'))).toBeUndefined()
  })

  test('ports are the same after they were written and read', () => {
    writeState(dir, STATE)
    expect(readState(dir)).toEqual(STATE)
  })

  test('writing leaves nothing beside the file', () => {
    writeState(dir, STATE)
    writeState(dir, STATE)
    expect(readdirSync(dir)).toEqual(['state.json'])
  })

  test('a damaged file is refused with its path, not repaired in silence', () => {
    writeFileSync(stateFilePath(dir), '{"version":1,"ports":{"kaf')
    expect(() => readState(dir)).toThrow(expect.objectContaining({ code: 'BAD_STATE' }))
  })

  test.each([
    ['another version', { ...STATE, version: 2 }],
    ['a missing port', { version: 1, ports: { kafka: 20_003 } }],
    ['a port out of range', { ...STATE, ports: { ...STATE.ports, s3: 70_000 } }],
    ['no object', []],
  ])('%s is refused', (_title, value) => {
    expect(() => parseState(JSON.stringify(value), 'state.json')).toThrow(expect.objectContaining({ code: 'BAD_STATE' }))
  })
})
