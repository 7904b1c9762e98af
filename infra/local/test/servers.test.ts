import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { kafkaConfiguration } from '../src/servers/kafka.ts'
import { brokerCountOf, metadataRequest } from '../src/servers/kafka-health.ts'
import { mysqlConfiguration } from '../src/servers/mysql.ts'
import { mendInterruptedUploads } from '../src/servers/s3-uploads.ts'
import { isAtLeast } from '../src/version.ts'

describe('MySQL configuration', () => {
  const options = {
    service: 'mysql-1',
    stackDir: '/s',
    port: 20_001,
    program: { mysqld: '/m', version: '9.7.4', settings: ['basedir=/b'] },
  } as const

  test.each([
    'sync-binlog=1',
    'innodb-flush-log-at-trx-commit=1',
    'log-bin=binlog',
    'binlog-row-image=minimal',
    'transaction-isolation=READ-COMMITTED',
    'bind-address=127.0.0.1',
    'server-id=2',
    'basedir=/b',
  ])('[ADJ-1] says %s', (line) => {
    expect(mysqlConfiguration(options, false).split('\n')).toContain(line)
  })

  test('names a user only for root, whom mysqld refuses otherwise', () => {
    expect(mysqlConfiguration(options, true)).toContain('\nuser=root\n')
    expect(mysqlConfiguration(options, false)).not.toContain('user=')
  })
})

describe('Kafka', () => {
  test('advertises the address that it listens on', () => {
    const text = kafkaConfiguration({
      stackDir: '/s',
      port: 20_003,
      controllerPort: 20_004,
      program: { java: 'java', libsDir: '/l' },
    })
    expect(text).toContain('\nadvertised.listeners=PLAINTEXT://127.0.0.1:20003\n')
    expect(text).toContain('\nlog.dirs=/s/kafka/data\n')
  })

  test('a metadata request carries its own size', () => {
    const request = metadataRequest()
    expect(request.readInt32BE(0)).toBe(request.length - 4)
  })

  test.each([
    ['0000000100000001', 1],
    ['0000000100000000', 0],
    ['0000000200000001', 0],
    ['00000001', 0],
  ])('response %s names %d brokers', (hex, count) => {
    expect(brokerCountOf(Buffer.from(hex, 'hex'))).toBe(count)
  })
})

describe('S3', () => {
  test('an upload that was cut off while it completed gets its name back', () => {
    const dir = mkdtempSync(join(tmpdir(), 'onceledger-s3-'))
    const uploads = join(dir, 'bucket', '.sgwtmp', 'multipart', 'object')
    mkdirSync(join(uploads, 'upload1.etag.inprogress'), { recursive: true })
    mkdirSync(join(uploads, 'upload2'))
    mendInterruptedUploads(dir)
    expect(readdirSync(uploads).sort()).toEqual(['upload1', 'upload2'])
    rmSync(dir, { recursive: true })
  })
})

describe('isAtLeast', () => {
  test.each([
    ['9.7.4', '8.4.0', true],
    ['8.4.0', '8.4.0', true],
    ['8.4', '8.4.0', true],
    ['8.0.46', '8.4.0', false],
    ['10.0', '9.7', true],
  ])('%s, %s: %s', (actual, minimum, expected) => {
    expect(isAtLeast(actual, minimum)).toBe(expected)
  })
})
