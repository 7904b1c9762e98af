import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const RUN = fileURLToPath(new URL('../run.mjs', import.meta.url))

function runWith(environment: Record<string, string>, ...args: string[]) {
  return spawnSync(process.execPath, [RUN, ...args], { encoding: 'utf8', env: environment })
}

describe('bootstrap', () => {
  test('without a command it says how it is used', () => {
    const { status, stdout, stderr } = runWith({})
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain('usage:')
  })

  test('names each missing tool at once, with how to get it, and leaves stdout clean', () => {
    const { status, stdout, stderr } = runWith({ PATH: '/nonexistent', MYSQLD: '/opt/mysqld' }, 'demo')
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain('npm with npx')
    expect(stderr).toContain('apt-get install openjdk-17-jre-headless')
  })

  test('servers that are given need no tool to provide them', () => {
    const given = { ONCELEDGER_MYSQL_URLS: 'mysql://db', ONCELEDGER_KAFKA_BROKERS: 'k:9092', ONCELEDGER_S3_ENDPOINT: 'http://s3' }
    const { stderr } = runWith({ PATH: '/nonexistent', ...given }, 'demo')
    expect(stderr).not.toMatch(/Java|Go|MySQL/)
  })
})
