import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { StackError } from '../errors.ts'
import { withFileLock } from '../file-lock.ts'
import { findProgram, isExecutable } from '../find-program.ts'
import { runCommand } from '../run-command.ts'
import { type ProvisionContext, PROVISION_LOCK_TIMEOUT_MS } from './context.ts'

const MODULE = 'github.com/versity/versitygw'
const VERSION = 'v1.8.0'
/** The module's checksum as Go writes it into go.sum; read back from the built program. */
const CHECKSUM = 'h1:au+wI+aybno/STsQiSm35Uu6Q6iK5MWReQxgO6SEMFc='
const BUILD_TIMEOUT_MS = 20 * 60_000
const OTHERWISE = `Install Go 1.24 or later, or set VERSITYGW to a built versitygw ${VERSION}.`

/**
 * Finds the S3 server: $VERSITYGW, then PATH, else built once into the cache from its Go module.
 *
 * @throws StackError MISSING_TOOL, PROVISION_FAILED, COMMAND_FAILED or BAD_SETTING.
 */
export async function provideVersitygw(context: ProvisionContext): Promise<string> {
  const named = context.environment['VERSITYGW']
  if (named !== undefined && named !== '') {
    if (!isExecutable(named)) {
      throw new StackError('BAD_SETTING', `VERSITYGW=${named} is not a program`)
    }
    return named
  }
  const onPath = findProgram('versitygw', context.environment)
  if (onPath !== undefined) {
    return onPath
  }
  const binary = join(context.cacheDir, `versitygw-${VERSION}`)
  if (!existsSync(binary)) {
    await withFileLock(
      `${binary}.lock`,
      {
        timeoutMs: PROVISION_LOCK_TIMEOUT_MS,
        signal: context.signal,
        onWait: () => context.onProgress('s3: waiting for another process that builds it'),
      },
      async () => {
        if (!existsSync(binary)) {
          await build(context, binary)
        }
      },
    )
  }
  return binary
}

async function build(context: ProvisionContext, binary: string): Promise<void> {
  const go = findProgram('go', context.environment, ['/usr/local/go/bin'])
  if (go === undefined) {
    throw new StackError('MISSING_TOOL', `no S3 server here, and no go to build one. ${OTHERWISE}`)
  }
  const workDir = `${binary}.work`
  rmSync(workDir, { recursive: true, force: true })
  mkdirSync(workDir)
  try {
    context.onProgress(`s3: building versitygw ${VERSION} (about two minutes the first time)`)
    await runCommand(
      go,
      [...['install', '-trimpath', '-ldflags', `-s -w -X main.Version=${VERSION}`], `${MODULE}/cmd/versitygw@${VERSION}`],
      {
        cwd: workDir,
        timeoutMs: BUILD_TIMEOUT_MS,
        control: context,
        env: {
          ...process.env,
          // go refuses to run without one.
          HOME: process.env['HOME'] ?? homedir(),
          GOBIN: workDir,
          // Without this flag the module cache is read-only, and nobody can delete it plainly.
          GOFLAGS: `${process.env['GOFLAGS'] ?? ''} -modcacherw`.trim(),
          CGO_ENABLED: '0',
        },
      },
    )
    const built = join(workDir, 'versitygw')
    const { stdout } = await runCommand(go, ['version', '-m', built], { timeoutMs: 60_000 })
    if (!stdout.includes(`${MODULE}\t${VERSION}\t${CHECKSUM}`)) {
      throw new StackError('PROVISION_FAILED', `s3: versitygw ${VERSION} was built from a source with another checksum than ${CHECKSUM}`)
    }
    renameSync(built, binary)
  } finally {
    rmSync(workDir, { recursive: true, force: true })
  }
  context.onProgress(`s3: versitygw ${VERSION} ready`)
}
