import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { HEALTH_PATH, findGatewayProblem } from './s3-health.ts'
import type { ProcessIdentity } from '../server-process.ts'
import type { Server } from './server.ts'
import { mendInterruptedUploads } from './s3-uploads.ts'

export const S3_ACCESS_KEY = 'onceledger'
export const S3_SECRET_KEY = 'onceledger-local-secret'
export const S3_REGION = 'us-east-1'

export interface S3ServerOptions {
  readonly stackDir: string
  readonly port: number
  readonly versitygw: string
}

export function s3Endpoint(port: number): string {
  return `http://127.0.0.1:${port}`
}

export function s3Identity(stackDir: string): ProcessIdentity {
  const dir = join(stackDir, 's3')
  return { pidFile: join(dir, 'pid'), marker: join(dir, 'data') }
}

export function s3Server(options: S3ServerOptions): Server {
  const dir = join(options.stackDir, 's3')
  const dataDir = join(dir, 'data')
  const versionsDir = join(dir, 'versions')
  const usersDir = join(dir, 'users')
  return {
    service: 's3',
    stopGraceMs: 10_000,
    command: {
      file: options.versitygw,
      args: [
        ...['--port', `127.0.0.1:${options.port}`, '--region', S3_REGION],
        ...['--keep-alive', '--quiet', '--health', HEALTH_PATH, '--iam-dir', usersDir],
        ...['posix', '--versioning-dir', versionsDir, dataDir],
      ],
      env: { ROOT_ACCESS_KEY: S3_ACCESS_KEY, ROOT_SECRET_KEY: S3_SECRET_KEY },
      logFile: join(dir, 'server.log'),
      ...s3Identity(options.stackDir),
    },
    prepare: async () => {
      for (const folder of [dataDir, versionsDir, usersDir]) {
        mkdirSync(folder, { recursive: true })
      }
      mendInterruptedUploads(dataDir)
    },
    findProblem: () => findGatewayProblem(s3Endpoint(options.port)),
  }
}
