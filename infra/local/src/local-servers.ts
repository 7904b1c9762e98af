import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Endpoints } from './endpoints.ts'
import { chooseFreePorts, isPortFree } from './ports.ts'
import type { ProvisionContext } from './provision/context.ts'
import { provideKafka } from './provision/kafka.ts'
import { provideMysql } from './provision/mysql.ts'
import { provideVersitygw } from './provision/versitygw.ts'
import { findRunning, type ProcessIdentity } from './server-process.ts'
import { kafkaBroker, kafkaIdentity, kafkaServer } from './servers/kafka.ts'
import { mysqlIdentity, mysqlServer, mysqlUrl } from './servers/mysql.ts'
import { S3_ACCESS_KEY, S3_REGION, S3_SECRET_KEY, s3Endpoint, s3Identity, s3Server } from './servers/s3.ts'
import type { Server } from './servers/server.ts'
import { kindOf, SERVICE_NAMES, type ServiceKind, type ServiceName } from './service-names.ts'
import { type PortName, readState, type StackState, writeState } from './state-file.ts'

const PORTS_OF_SERVICE: Readonly<Record<ServiceName, readonly PortName[]>> = {
  'mysql-0': ['mysql-0'],
  'mysql-1': ['mysql-1'],
  kafka: ['kafka', 'kafkaController'],
  s3: ['s3'],
}

/** How the process of a service is recognised; needs no program and no state, only the folder. */
export function identityOf(stackDir: string, service: ServiceName): ProcessIdentity {
  switch (service) {
    case 'mysql-0':
    case 'mysql-1':
      return mysqlIdentity(stackDir, service)
    case 'kafka':
      return kafkaIdentity(stackDir)
    case 's3':
      return s3Identity(stackDir)
  }
}

export function logFileOf(stackDir: string, service: ServiceName): string {
  return join(stackDir, service, 'server.log')
}

/**
 * The ports of a stack: those it had before, unless a stranger took one while its server was down.
 * Call it under the lock of the stack.
 */
export async function settlePorts(stackDir: string): Promise<StackState> {
  const known = readState(stackDir)
  const kept = new Map<PortName, number>()
  for (const service of SERVICE_NAMES) {
    const isRunning = findRunning(identityOf(stackDir, service)) !== undefined
    for (const name of PORTS_OF_SERVICE[service]) {
      const port = known?.ports[name]
      if (port !== undefined && (isRunning || (await isPortFree(port)))) {
        kept.set(name, port)
      }
    }
  }
  const missing = Object.values(PORTS_OF_SERVICE)
    .flat()
    .filter((name) => !kept.has(name))
  const seed = createHash('sha256').update(stackDir).digest().readUInt32BE(0)
  const chosen = await chooseFreePorts(missing.length, seed, new Set(kept.values()), isPortFree)
  const portOf = (name: PortName) => kept.get(name) ?? chosen[missing.indexOf(name)] ?? 0
  const state: StackState = {
    version: 1,
    ports: {
      'mysql-0': portOf('mysql-0'),
      'mysql-1': portOf('mysql-1'),
      kafka: portOf('kafka'),
      kafkaController: portOf('kafkaController'),
      s3: portOf('s3'),
    },
  }
  mkdirSync(stackDir, { recursive: true })
  writeState(stackDir, state)
  return state
}

/** Finds or fetches the program of one kind, and describes its wanted servers. */
export async function provideServers(
  context: ProvisionContext,
  kind: ServiceKind,
  wanted: readonly ServiceName[],
  stackDir: string,
  ports: StackState['ports'],
): Promise<readonly Server[]> {
  switch (kind) {
    case 'mysql': {
      const program = await provideMysql(context)
      return (['mysql-0', 'mysql-1'] as const)
        .filter((service) => wanted.includes(service))
        .map((service) => mysqlServer({ service, stackDir, port: ports[service], program }))
    }
    case 'kafka': {
      const program = await provideKafka(context)
      const { kafka: port, kafkaController: controllerPort } = ports
      return [kafkaServer({ stackDir, port, controllerPort, program })]
    }
    case 's3': {
      const versitygw = await provideVersitygw(context)
      return [s3Server({ stackDir, port: ports.s3, versitygw })]
    }
  }
}

/** Endpoints of the stack's own servers, joined with what is given from outside. */
export function endpointsOf(services: readonly ServiceName[], ports: StackState['ports'], given: Endpoints): Endpoints {
  const ownMysql = services.filter((service) => kindOf(service) === 'mysql')
  return {
    mysqlUrls: given.mysqlUrls.length > 0 ? given.mysqlUrls : ownMysql.map((service) => mysqlUrl(ports[service])),
    kafkaBrokers: given.kafkaBrokers.length > 0 || !services.includes('kafka') ? given.kafkaBrokers : [kafkaBroker(ports.kafka)],
    s3:
      given.s3 !== undefined || !services.includes('s3')
        ? given.s3
        : {
            endpoint: s3Endpoint(ports.s3),
            accessKey: S3_ACCESS_KEY,
            secretKey: S3_SECRET_KEY,
            region: S3_REGION,
          },
  }
}
