import { join } from 'node:path'
import { StackError } from '../errors.ts'
import { findProgram, isExecutable } from '../find-program.ts'
import { runCommand } from '../run-command.ts'
import type { ProvisionContext } from './context.ts'

const MINIMUM_MAJOR = 17
const ADVICE = `Kafka needs Java ${MINIMUM_MAJOR} or later: install a JDK or JRE (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME.`

/**
 * Finds java: $JAVA_HOME, then PATH.
 *
 * @throws StackError MISSING_TOOL when there is none, BAD_SETTING when it is too old.
 */
export async function provideJava(context: ProvisionContext): Promise<string> {
  const home = context.environment['JAVA_HOME']
  const java = home !== undefined && home !== '' ? join(home, 'bin', 'java') : findProgram('java', context.environment)
  if (java === undefined || !isExecutable(java)) {
    throw new StackError('MISSING_TOOL', `no java found${home ? ` in JAVA_HOME=${home}` : ''}. ${ADVICE}`)
  }
  const { stderr } = await runCommand(java, ['-version'], { timeoutMs: 60_000 })
  const major = Number(/version "(\d+)/.exec(stderr)?.[1] ?? '0')
  if (major < MINIMUM_MAJOR) {
    throw new StackError('BAD_SETTING', `${java} is Java ${major}. ${ADVICE}`)
  }
  return java
}
