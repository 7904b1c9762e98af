import type { Endpoints } from './endpoints.ts'
import { StackError } from './errors.ts'
import { findKafkaProblem } from './servers/kafka-health.ts'
import { findMysqlProblem } from './servers/mysql-health.ts'
import { findS3Problem } from './servers/s3-health.ts'
import { kindOf, type ServiceKind, type ServiceName } from './service-names.ts'

/** A server that was given from outside, and what is wrong with it (undefined: nothing). */
export interface GivenHealth {
  readonly kind: ServiceKind
  readonly address: string
  readonly problem: string | undefined
}

/** Asks every given server one real question. Addresses are shown without user and password. */
export function findGivenProblems(given: Endpoints): Promise<readonly GivenHealth[]> {
  const checks = [
    ...given.mysqlUrls.map(async (url) => ({
      kind: 'mysql' as const,
      address: addressOf(url),
      problem: await findMysqlProblem(url),
    })),
    ...given.kafkaBrokers.map(async (broker) => ({
      kind: 'kafka' as const,
      address: broker,
      problem: await findKafkaProblem(broker),
    })),
  ]
  const { s3 } = given
  if (s3 !== undefined) {
    const check = async () => ({
      kind: 's3' as const,
      address: addressOf(s3.endpoint),
      problem: await findS3Problem(s3.endpoint),
    })
    return Promise.all([...checks, check()])
  }
  return Promise.all(checks)
}

/** @throws StackError UNHEALTHY when a given server of a wanted kind does not answer well. */
export async function checkGiven(given: Endpoints, wanted: readonly ServiceName[]): Promise<void> {
  const kinds = new Set(wanted.map(kindOf))
  const sick = (await findGivenProblems(given)).filter((health) => kinds.has(health.kind) && health.problem !== undefined)
  if (sick.length > 0) {
    const lines = sick.map((health) => `  ${health.kind} ${health.address}: ${health.problem}`)
    throw new StackError('UNHEALTHY', `servers given by the environment do not answer:\n${lines.join('\n')}`)
  }
}

function addressOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address that is not a URL'
}
