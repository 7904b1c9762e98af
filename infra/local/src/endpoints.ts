import { StackError } from './errors.ts'
import type { ServiceKind } from './service-names.ts'
import { S3_REGION } from './servers/s3.ts'

/** How a client reaches an S3 server. */
export interface S3Endpoint {
  readonly endpoint: string
  readonly accessKey: string
  readonly secretKey: string
  readonly region: string
}

/** What a client of the stack needs to know. */
export interface Endpoints {
  readonly mysqlUrls: readonly string[]
  readonly kafkaBrokers: readonly string[]
  readonly s3: S3Endpoint | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the servers that are given from outside. Nothing is started for a kind that is given.
 *
 * @throws StackError BAD_SETTING when an S3 endpoint comes without its keys.
 */
export function readGivenEndpoints(environment: Environment): Endpoints {
  return {
    mysqlUrls: listOf(environment['ONCELEDGER_MYSQL_URLS']),
    kafkaBrokers: listOf(environment['ONCELEDGER_KAFKA_BROKERS']),
    s3: readGivenS3(environment),
  }
}

export function isGiven(given: Endpoints, kind: ServiceKind): boolean {
  switch (kind) {
    case 'mysql':
      return given.mysqlUrls.length > 0
    case 'kafka':
      return given.kafkaBrokers.length > 0
    case 's3':
      return given.s3 !== undefined
  }
}

/** The environment variables that hand these endpoints to another program. */
export function environmentOf(endpoints: Endpoints): Record<string, string> {
  const variables: Record<string, string> = {}
  if (endpoints.mysqlUrls.length > 0) {
    variables['ONCELEDGER_MYSQL_URLS'] = endpoints.mysqlUrls.join(',')
  }
  if (endpoints.kafkaBrokers.length > 0) {
    variables['ONCELEDGER_KAFKA_BROKERS'] = endpoints.kafkaBrokers.join(',')
  }
  if (endpoints.s3 !== undefined) {
    variables['ONCELEDGER_S3_ENDPOINT'] = endpoints.s3.endpoint
    variables['ONCELEDGER_S3_ACCESS_KEY'] = endpoints.s3.accessKey
    variables['ONCELEDGER_S3_SECRET_KEY'] = endpoints.s3.secretKey
    variables['ONCELEDGER_S3_REGION'] = endpoints.s3.region
  }
  return variables
}

/** `export NAME='value'` lines for a POSIX shell. */
export function shellExports(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`)
    .join('')
}

function readGivenS3(environment: Environment): S3Endpoint | undefined {
  const endpoint = environment['ONCELEDGER_S3_ENDPOINT']
  if (endpoint === undefined || endpoint === '') {
    return undefined
  }
  if (!URL.canParse(endpoint)) {
    throw new StackError('BAD_SETTING', `ONCELEDGER_S3_ENDPOINT=${endpoint} is not a URL`)
  }
  const accessKey = environment['ONCELEDGER_S3_ACCESS_KEY'] ?? ''
  const secretKey = environment['ONCELEDGER_S3_SECRET_KEY'] ?? ''
  if (accessKey === '' || secretKey === '') {
    throw new StackError('BAD_SETTING', 'ONCELEDGER_S3_ENDPOINT needs ONCELEDGER_S3_ACCESS_KEY and ONCELEDGER_S3_SECRET_KEY beside it')
  }
  const region = environment['ONCELEDGER_S3_REGION']
  return { endpoint, accessKey, secretKey, region: region === undefined || region === '' ? S3_REGION : region }
}

function listOf(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
