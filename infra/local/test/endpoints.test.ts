import { describe, expect, test } from 'vitest'
import { environmentOf, isGiven, readGivenEndpoints, shellExports } from '../src/endpoints.ts'

const ALL = {
  ONCELEDGER_MYSQL_URLS: 'mysql://u:p@db0:3306/l, mysql://u:p@db1:3306/l',
  ONCELEDGER_KAFKA_BROKERS: 'k0:9092,k1:9092',
  ONCELEDGER_S3_ENDPOINT: 'https://s3.example',
  ONCELEDGER_S3_ACCESS_KEY: 'key',
  ONCELEDGER_S3_SECRET_KEY: "it's secret",
}

describe('endpoints', () => {
  test('nothing is given by an empty environment, nor by empty variables', () => {
    for (const environment of [{}, { ONCELEDGER_MYSQL_URLS: '', ONCELEDGER_KAFKA_BROKERS: ' , ' }]) {
      const given = readGivenEndpoints(environment)
      expect(isGiven(given, 'mysql') || isGiven(given, 'kafka') || isGiven(given, 's3')).toBe(false)
    }
  })

  test('what is given is handed on unchanged, with the default region', () => {
    expect(environmentOf(readGivenEndpoints(ALL))).toEqual({
      ...ALL,
      ONCELEDGER_MYSQL_URLS: 'mysql://u:p@db0:3306/l,mysql://u:p@db1:3306/l',
      ONCELEDGER_S3_REGION: 'us-east-1',
    })
  })

  test.each([
    ['without its keys', { ONCELEDGER_S3_ENDPOINT: 'https://s3.example' }],
    ['that is not a URL', { ...ALL, ONCELEDGER_S3_ENDPOINT: 'not a url' }],
  ])('an S3 endpoint %s is refused', (_title, environment) => {
    expect(() => readGivenEndpoints(environment)).toThrow(expect.objectContaining({ code: 'BAD_SETTING' }))
  })

  test('exports survive a quote in a value', () => {
    expect(shellExports({ A: "it's" })).toBe("export A='it'\\''s'\n")
  })
})
