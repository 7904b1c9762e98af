import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { KafkaProgram } from '../provision/kafka.ts'
import { type CommandControl, runCommand } from '../run-command.ts'
import type { ProcessIdentity } from '../server-process.ts'
import { findKafkaProblem } from './kafka-health.ts'
import type { Server } from './server.ts'

const LOG_CONFIG_PATH = fileURLToPath(new URL('../../kafka/log4j2.properties', import.meta.url))
const FORMAT_TIMEOUT_MS = 2 * 60_000

export interface KafkaServerOptions {
  readonly stackDir: string
  readonly port: number
  readonly controllerPort: number
  readonly program: KafkaProgram
}

export function kafkaBroker(port: number): string {
  return `127.0.0.1:${port}`
}

export function kafkaIdentity(stackDir: string): ProcessIdentity {
  const dir = join(stackDir, 'kafka')
  return { pidFile: join(dir, 'pid'), marker: join(dir, 'server.properties') }
}

export function kafkaServer(options: KafkaServerOptions): Server {
  const dir = join(options.stackDir, 'kafka')
  const configPath = join(dir, 'server.properties')
  const classPath = join(options.program.libsDir, '*')
  return {
    service: 'kafka',
    stopGraceMs: 30_000,
    command: {
      file: options.program.java,
      args: [
        ...['-Xms256m', '-Xmx512m', '-XX:+UseSerialGC', '-XX:+ExitOnOutOfMemoryError'],
        ...['-Djava.awt.headless=true', `-Dlog4j2.configurationFile=file:${LOG_CONFIG_PATH}`],
        ...['-cp', classPath, 'kafka.Kafka', configPath],
      ],
      env: {},
      logFile: join(dir, 'server.log'),
      ...kafkaIdentity(options.stackDir),
    },
    prepare: async (control) => {
      mkdirSync(dir, { recursive: true })
      writeFileSync(configPath, kafkaConfiguration(options))
      await format(options.program.java, classPath, dir, control)
    },
    findProblem: () => findKafkaProblem(kafkaBroker(options.port)),
  }
}

/** One node that is broker and controller, on loopback, small. */
export function kafkaConfiguration(options: KafkaServerOptions): string {
  const { port, controllerPort } = options
  return `process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:${controllerPort}
log.dirs=${join(options.stackDir, 'kafka', 'data')}
# There is one broker to replicate to.
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
# Topics are created on purpose, and a group does not wait 3 s for more members.
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=2
num.recovery.threads.per.data.dir=2
background.threads=2
log.cleaner.dedupe.buffer.size=4194304
log.index.size.max.bytes=1048576
log.segment.bytes=67108864
# After SIGKILL the controller refuses the new broker until the session of the old one has ended.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
`
}

async function format(java: string, classPath: string, dir: string, control: CommandControl): Promise<void> {
  const donePath = join(dir, 'initialised')
  if (existsSync(donePath)) {
    return
  }
  rmSync(join(dir, 'data'), { recursive: true, force: true })
  // 22 characters of base64url; the first must not be a minus, which would read as an option.
  const clusterId = `A${randomBytes(16).toString('base64url').slice(1)}`
  await runCommand(
    java,
    [
      ...['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', classPath],
      ...['kafka.tools.StorageTool', 'format', '--cluster-id', clusterId],
      ...['--config', join(dir, 'server.properties')],
    ],
    { timeoutMs: FORMAT_TIMEOUT_MS, control, cwd: dir },
  )
  writeFileSync(donePath, `${clusterId}\n`)
}
