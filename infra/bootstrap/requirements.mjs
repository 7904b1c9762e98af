import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const NODE_MAJOR_MINIMUM = 20
const JAVA_MAJOR_MINIMUM = 17

/**
 * What this machine lacks, one line each with how to get it; empty when nothing is missing. A server
 * that is given by an environment variable needs no tool to provide it.
 */
export function findMissing(environment) {
  return [
    missingNode(process.versions.node),
    missingNpm(environment),
    missingJava(environment),
    missingGo(environment),
    missingMysqlSource(environment),
  ].filter((line) => line !== undefined)
}

function missingNode(version) {
  return Number(version.split('.')[0]) >= NODE_MAJOR_MINIMUM
    ? undefined
    : `Node.js ${NODE_MAJOR_MINIMUM} or later (this is ${version}): https://nodejs.org`
}

function missingNpm(environment) {
  return onPath('npm', environment) && onPath('npx', environment)
    ? undefined
    : 'npm with npx: it comes with Node.js (Debian: apt-get install npm)'
}

function missingJava(environment) {
  if (isSet(environment.ONCELEDGER_KAFKA_BROKERS)) {
    return undefined
  }
  const home = environment.JAVA_HOME
  const java = isSet(home) ? join(home, 'bin', 'java') : 'java'
  const { stderr } = spawnSync(java, ['-version'], { encoding: 'utf8' })
  const major = javaMajorOf(stderr ?? '')
  if (major >= JAVA_MAJOR_MINIMUM) {
    return undefined
  }
  const found = major === 0 ? 'none was found' : `${java} is Java ${major}`
  return (
    `Java ${JAVA_MAJOR_MINIMUM} or later, for Kafka (${found}): apt-get install openjdk-17-jre-headless, ` +
    'or set JAVA_HOME, or give a broker in ONCELEDGER_KAFKA_BROKERS'
  )
}

/** The major version in what `java -version` prints; 0 when there is none. */
function javaMajorOf(text) {
  return Number(/version "(\d+)/.exec(text)?.[1] ?? '0')
}

function missingGo(environment) {
  const hasOther = isSet(environment.ONCELEDGER_S3_ENDPOINT) || isSet(environment.VERSITYGW) || onPath('versitygw', environment)
  return hasOther || onPath('go', environment, ['/usr/local/go/bin'])
    ? undefined
    : 'Go, to build the S3 server: https://go.dev/doc/install, or set VERSITYGW, or give a server in ONCELEDGER_S3_ENDPOINT'
}

function missingMysqlSource(environment) {
  const hasOther =
    isSet(environment.ONCELEDGER_MYSQL_URLS) || isSet(environment.MYSQLD) || onPath('mysqld', environment, ['/usr/sbin', '/usr/local/sbin'])
  return hasOther || onPath('apt-get', environment)
    ? undefined
    : 'MySQL: there is no apt-get to fetch it; install MySQL 9.7 and set MYSQLD to its mysqld, or give servers in ONCELEDGER_MYSQL_URLS'
}

function isSet(value) {
  return value !== undefined && value !== ''
}

function onPath(name, environment, alsoIn = []) {
  return [...(environment.PATH ?? '').split(delimiter), ...alsoIn]
    .filter((folder) => folder !== '')
    .some((folder) => {
      const found = statSync(join(folder, name), { throwIfNoEntry: false })
      return found?.isFile() === true && (found.mode & 0o111) !== 0
    })
}
