import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ConfigError, createFailpoints } from '../src/index.ts'

const known = ['store.before-commit', 'store.after-commit'] as const
const INDEX = fileURLToPath(new URL('../src/index.ts', import.meta.url))

function armed(text: string) {
  return createFailpoints({ env: { ONCELEDGER_FAILPOINTS: text }, known })
}

/** Hits one point as often as told in a process of its own, which says so before each hit. */
function hitInOwnProcess(text: string, times: number) {
  const program = `
    import { createFailpoints } from ${JSON.stringify(INDEX)}
    process.on('exit', () => process.stdout.write('a handler ran\\n'))
    const failpoints = createFailpoints({ env: process.env, known: ${JSON.stringify(known)} })
    for (let i = 1; i <= ${times}; i++) {
      process.stdout.write(i + '\\n')
      await failpoints.hit('store.before-commit')
    }`
  return spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    encoding: 'utf8',
    timeout: 20_000,
    env: { ...process.env, ONCELEDGER_FAILPOINTS: text },
  })
}

describe('failpoints', () => {
  it('do nothing when none is named', () => {
    const failpoints = createFailpoints({ env: {}, known })
    expect(failpoints.armed('store.before-commit')).toBe(false)
    expect(failpoints.hit('store.before-commit')).toBeUndefined()
  })

  it('strike at the named hit and only there', () => {
    const failpoints = armed('store.before-commit=throw@2')
    expect(failpoints.hit('store.before-commit')).toBeUndefined()
    expect(() => failpoints.hit('store.before-commit')).toThrow('failpoint store.before-commit')
    expect(failpoints.hit('store.before-commit')).toBeUndefined()
    expect(failpoints.hit('store.after-commit')).toBeUndefined()
  })

  it('pause for the given time', async () => {
    const startedMs = performance.now()
    await armed('store.after-commit=pause:30').hit('store.after-commit')
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(29)
  })

  it('[LAB-2] kill the own process at the third hit: nothing after it runs, not even an exit handler', () => {
    const { signal, stdout, stderr } = hitInOwnProcess('store.before-commit=exit@3', 5)
    expect({ signal, stdout, stderr }).toEqual({ signal: 'SIGKILL', stdout: '1\n2\n3\n', stderr: '' })
  })

  it('leave a process alone that never comes to the hit', () => {
    expect(hitInOwnProcess('store.before-commit=exit@3', 2)).toMatchObject({ status: 0, stdout: '1\n2\na handler ran\n' })
  })

  it.each([
    ['an unknown name', 'store.nowhere=exit', {}],
    ['an unknown action', 'store.before-commit=explode', {}],
    ['a hit that never comes', 'store.before-commit=exit@0', {}],
    ['a pause without its time', 'store.before-commit=pause', {}],
    ['a name given twice', 'store.before-commit=exit@3,store.before-commit=throw', {}],
    ['production', 'store.before-commit=exit', { NODE_ENV: 'production' }],
  ])('are refused for %s', (_what, text, more) => {
    expect(() => createFailpoints({ env: { ONCELEDGER_FAILPOINTS: text, ...more }, known })).toThrow(ConfigError)
  })

  it('are refused with every fault at once', () => {
    expect(() => armed('nowhere=exit,store.before-commit=explode')).toThrow(/2 faults/)
  })
})
