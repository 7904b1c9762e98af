import { describe, expect, it } from 'vitest'
import { ConfigError, createFailpoints } from '../src/index.ts'

const known = ['store.before-commit', 'store.after-commit'] as const

describe('failpoints', () => {
  it('do nothing when none is named', () => {
    const failpoints = createFailpoints({ env: {}, known })
    expect(failpoints.armed('store.before-commit')).toBe(false)
    expect(failpoints.hit('store.before-commit')).toBeUndefined()
  })

  it('strike at the named hit and only there', () => {
    const failpoints = createFailpoints({ env: { ONCELEDGER_FAILPOINTS: 'store.before-commit=throw@2' }, known })
    failpoints.hit('store.before-commit')
    expect(() => failpoints.hit('store.before-commit')).toThrow('failpoint store.before-commit')
    failpoints.hit('store.before-commit')
    failpoints.hit('store.after-commit')
  })

  it.each([
    ['an unknown name', 'store.nowhere=exit', {}],
    ['an unknown action', 'store.before-commit=explode', {}],
    ['production', 'store.before-commit=exit', { NODE_ENV: 'production' }],
  ])('are refused for %s', (_what, text, more) => {
    expect(() => createFailpoints({ env: { ONCELEDGER_FAILPOINTS: text, ...more }, known })).toThrow(ConfigError)
  })
})
