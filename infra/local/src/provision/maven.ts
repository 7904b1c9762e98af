import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StackError } from '../errors.ts'
import { findProgram } from '../find-program.ts'
import type { ProvisionContext } from './context.ts'
import { machineSuites, unpackDebianPackages } from './debian-packages.ts'

/** A command that takes Maven's arguments. */
export interface MavenCommand {
  readonly file: string
  readonly leadingArgs: readonly string[]
}

/**
 * Finds Maven, which is how Kafka's jars are named and checked: `mvn` on PATH, else Debian's own
 * package unpacked once into the cache and run by `java`. Call it under the lock of what needs it.
 *
 * @throws StackError PROVISION_FAILED or MISSING_TOOL.
 */
export async function provideMaven(context: ProvisionContext, java: string): Promise<MavenCommand> {
  const mvn = findProgram('mvn', context.environment)
  if (mvn !== undefined) {
    return { file: mvn, leadingArgs: [] }
  }
  const prefix = join(context.cacheDir, 'maven')
  if (!existsSync(prefix)) {
    await provision(context, prefix)
  }
  const home = join(prefix, 'usr', 'share', 'maven')
  const boot = join(home, 'boot')
  const launcher = readdirSync(boot).find((name) => /^plexus-classworlds.*\.jar$/.test(name))
  if (launcher === undefined) {
    throw new StackError('PROVISION_FAILED', `no launcher in ${boot}. Delete ${prefix} and try again.`)
  }
  return {
    file: java,
    leadingArgs: [
      ...['-classpath', join(boot, launcher)],
      `-Dclassworlds.conf=${join(prefix, 'onceledger-m2.conf')}`,
      `-Dmaven.home=${home}`,
      `-Dmaven.multiModuleProjectDirectory=${prefix}`,
      'org.codehaus.plexus.classworlds.launcher.Launcher',
    ],
  }
}

async function provision(context: ProvisionContext, prefix: string): Promise<void> {
  const unpacked = `${prefix}.unpacking`
  rmSync(unpacked, { recursive: true, force: true })
  await unpackDebianPackages(
    context,
    {
      title: 'maven',
      packages: ['maven'],
      suites: [...(await machineSuites()), 'sid'],
      assumeInstalled: ['default-jre-headless'],
      otherwise:
        'Install Maven (Debian: apt-get install maven), or set ONCELEDGER_KAFKA_LIBS to the libs folder of an unpacked Apache Kafka.',
    },
    unpacked,
  )
  // The packaged one is a link to /etc, which is not where these files are.
  writeFileSync(
    join(unpacked, 'onceledger-m2.conf'),
    `main is org.apache.maven.cli.MavenCli from plexus.core
set maven.conf default \${maven.home}/conf
[plexus.core]
load \${maven.home}/lib/*.jar
`,
  )
  renameSync(unpacked, prefix)
}
