import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StackError } from '../errors.ts'
import { withFileLock } from '../file-lock.ts'
import { runCommand } from '../run-command.ts'
import { type ProvisionContext, PROVISION_LOCK_TIMEOUT_MS } from './context.ts'
import { provideJava } from './java.ts'
import { provideMaven } from './maven.ts'

/** The same version as in kafka/pom.xml. */
const KAFKA_VERSION = '4.4.0'
const DOWNLOAD_TIMEOUT_MS = 15 * 60_000
const POM_PATH = fileURLToPath(new URL('../../kafka/pom.xml', import.meta.url))

export interface KafkaProgram {
  readonly java: string
  readonly libsDir: string
}

/**
 * Finds Kafka's jars: $ONCELEDGER_KAFKA_LIBS, else those that kafka/pom.xml names, fetched once into
 * the cache by Maven, which checks every file against its checksum.
 *
 * @throws StackError MISSING_TOOL, PROVISION_FAILED, COMMAND_FAILED or BAD_SETTING.
 */
export async function provideKafka(context: ProvisionContext): Promise<KafkaProgram> {
  const java = await provideJava(context)
  const named = context.environment['ONCELEDGER_KAFKA_LIBS']
  if (named !== undefined && named !== '') {
    if (!hasBroker(named)) {
      throw new StackError('BAD_SETTING', `ONCELEDGER_KAFKA_LIBS=${named} holds no kafka_2.13-*.jar`)
    }
    return { java, libsDir: named }
  }
  const libsDir = join(context.cacheDir, `kafka-${KAFKA_VERSION}`)
  if (!existsSync(libsDir)) {
    await withFileLock(
      `${libsDir}.lock`,
      {
        timeoutMs: PROVISION_LOCK_TIMEOUT_MS,
        signal: context.signal,
        onWait: () => context.onProgress('kafka: waiting for another process that fetches it'),
      },
      async () => {
        if (!existsSync(libsDir)) {
          await provision(context, java, libsDir)
        }
      },
    )
  }
  return { java, libsDir }
}

async function provision(context: ProvisionContext, java: string, libsDir: string): Promise<void> {
  const maven = await provideMaven(context, java)
  const workDir = `${libsDir}.work`
  rmSync(workDir, { recursive: true, force: true })
  try {
    context.onProgress(`kafka: downloading Apache Kafka ${KAFKA_VERSION}`)
    await runCommand(
      maven.file,
      [
        ...maven.leadingArgs,
        ...['--batch-mode', '--quiet', '--strict-checksums', '--file', POM_PATH],
        // A repository of its own: nothing outside the cache is written.
        `-Dmaven.repo.local=${join(workDir, 'repository')}`,
        'dependency:copy-dependencies',
        `-DoutputDirectory=${join(workDir, 'libs')}`,
        '-DincludeScope=runtime',
      ],
      { timeoutMs: DOWNLOAD_TIMEOUT_MS, control: context },
    )
    if (!hasBroker(join(workDir, 'libs'))) {
      throw new StackError('PROVISION_FAILED', 'kafka: Maven ended well but fetched no broker')
    }
    renameSync(join(workDir, 'libs'), libsDir)
  } finally {
    rmSync(workDir, { recursive: true, force: true })
  }
  context.onProgress(`kafka: Apache Kafka ${KAFKA_VERSION} ready`)
}

function hasBroker(libsDir: string): boolean {
  return existsSync(libsDir) && readdirSync(libsDir).some((name) => /^kafka_2\.13-.*\.jar$/.test(name))
}
