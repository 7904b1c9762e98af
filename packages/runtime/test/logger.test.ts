import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../src/index.ts'

const INDEX = fileURLToPath(new URL('../src/index.ts', import.meta.url))

/** Runs statements with a `log` at level info in a process of its own, and reads back its stderr. */
function linesOf(statements: string): Record<string, unknown>[] {
  const program = `
    import { createLogger } from ${JSON.stringify(INDEX)}
    const log = createLogger({ level: 'info', fields: { service: 'shard', shard: 3 } })
    ${statements}`
  const { stderr, stdout } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    encoding: 'utf8',
    timeout: 20_000,
  })
  expect(stdout).toBe('')
  return stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line)))
}

describe('the logger', () => {
  it('writes JSON lines on stderr with level, time and the fields of the process', () => {
    const [line, ...more] = linesOf(`log.debug({}, 'not at this level'); log.info({ partition: 7 }, 'assigned')`)
    expect(more).toEqual([])
    expect(line).toMatchObject({ level: 'info', service: 'shard', shard: 3, partition: 7, msg: 'assigned' })
    expect(new Date(String(line?.['time'])).getTime()).toBeGreaterThan(0)
  })

  it('adds the fields of a child to its lines only', () => {
    const [first, second] = linesOf(`log.child({ partition: 7n }).warn({}, 'slow'); log.error({}, 'gone')`)
    expect(first).toMatchObject({ level: 'warn', partition: '7', msg: 'slow' })
    expect(second).not.toHaveProperty('partition')
  })

  it('[IDN-5] keeps every digit of a bigint, however deep', () => {
    const [line] = linesOf(`log.info({ offset: 9007199254740993n, range: { from: [9007199254740993n] } }, 'read')`)
    expect(line).toMatchObject({ offset: '9007199254740993', range: { from: ['9007199254740993'] } })
  })

  it('shows an error with its code and cause', () => {
    const [line] = linesOf(`
      const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
      log.error({ error: new Error('no database', { cause }) }, 'failed')`)
    expect(line).toMatchObject({ error: { name: 'Error', message: 'no database', cause: { message: 'refused', code: 'ECONNREFUSED' } } })
  })

  it('writes a line for fields that contain themselves', () => {
    const [line] = linesOf(`const loop = { name: 'loop' }; loop.self = loop; log.info({ loop }, 'still here')`)
    expect(line).toMatchObject({ msg: 'still here', loop: { name: 'loop' } })
  })

  it('can be silent', () => {
    expect(silentLogger.child({ a: 1 })).toBe(silentLogger)
  })
})
