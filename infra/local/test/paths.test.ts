import { describe, expect, test } from 'vitest'
import { cacheFolder, cloneName, stackFolder } from '../src/paths.ts'

describe('paths', () => {
  test('two clones have different names, even when their folders are called the same', () => {
    expect(cloneName('/home/a/onceledger')).not.toBe(cloneName('/home/b/onceledger'))
    expect(cloneName('/home/a/onceledger')).toMatch(/^onceledger-[0-9a-f]{8}$/)
  })

  test('XDG_CACHE_HOME moves the cache, and a relative one is ignored', () => {
    expect(cacheFolder({ XDG_CACHE_HOME: '/var/c' })).toBe('/var/c/onceledger')
    expect(cacheFolder({ XDG_CACHE_HOME: 'c' })).toMatch(/\/\.cache\/onceledger$/)
  })

  test('ONCELEDGER_STACK_DIR names the folder, and a named stack lies beside it', () => {
    const environment = { ONCELEDGER_STACK_DIR: '/data/stack' }
    expect(stackFolder(environment, undefined)).toBe('/data/stack')
    expect(stackFolder(environment, 'demo')).toBe('/data/stack-demo')
  })
})
