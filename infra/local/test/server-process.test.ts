import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pollUntil } from '../src/poll.ts'
import { endProcess, findRunning, isSameProcess, launch, parsePid } from '../src/server-process.ts'

const WAIT = 'setInterval(() => undefined, 1000)'

describe('parsePid', () => {
  test.each([
    ['1234\n', 1234],
    ['', undefined],
    ['12a', undefined],
    ['-5', undefined],
    // Signals to 0 and 1 would reach far more than one server.
    ['0', undefined],
    ['1', undefined],
  ])('%j is %s', (text, pid) => {
    expect(parsePid(text)).toBe(pid)
  })
})

describe('isSameProcess', () => {
  test.each([
    ['/usr/sbin/mysqld --datadir=/a/mysql-0/data', true],
    ['/usr/sbin/mysqld --datadir=/a/mysql-1/data', false],
    ['vim notes', false],
    [undefined, false],
  ])('%s', (commandLine, expected) => {
    expect(isSameProcess(commandLine, '--datadir=/a/mysql-0/data')).toBe(expected)
  })
})

describe('a launched process', () => {
  let dir = ''
  let stranger: ChildProcess | undefined
  const identity = () => ({ pidFile: join(dir, 'service', 'pid'), marker: join(dir, 'data') })
  const launchScript = (script: string) =>
    launch({
      ...identity(),
      file: process.execPath,
      args: ['-e', script, identity().marker],
      env: {},
      logFile: join(dir, 'log'),
    })
  const waitForPid = () => pollUntil(() => findRunning(identity()) !== undefined, { timeoutMs: 5_000, intervalMs: 10 })

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'onceledger-process-'))
  })
  afterEach(async () => {
    await endProcess(identity(), 0)
    stranger?.kill('SIGKILL')
    rmSync(dir, { recursive: true })
  })

  test('is found by its pid file while it runs, and is gone after it was ended', async () => {
    launchScript(WAIT)
    expect(await waitForPid()).toBe(true)
    await endProcess(identity(), 5_000)
    expect(findRunning(identity())).toBeUndefined()
  })

  test('that ignores SIGTERM is killed after its grace', async () => {
    launchScript(`process.on('SIGTERM', () => undefined); ${WAIT}`)
    expect(await waitForPid()).toBe(true)
    await endProcess(identity(), 50)
    expect(findRunning(identity())).toBeUndefined()
  })

  test('that ends by itself is seen to have exited', async () => {
    const launched = launchScript('process.exit(3)')
    const exited = await pollUntil(launched.hasExited, { timeoutMs: 5_000, intervalMs: 10 })
    expect(exited).toBe(true)
    expect(findRunning(identity())).toBeUndefined()
  })

  test('whose pid another program has now is neither recognised nor ended', async () => {
    mkdirSync(join(dir, 'service'))
    stranger = spawn(process.execPath, ['-e', WAIT])
    writeFileSync(identity().pidFile, `${stranger.pid}\n`)
    expect(findRunning(identity())).toBeUndefined()
    await endProcess(identity(), 0)
    expect(stranger.exitCode).toBeNull()
    expect(stranger.signalCode).toBeNull()
  })
})
