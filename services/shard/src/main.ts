import { StoreMisconfigured } from '@onceledger/ledger-store'
import { ConfigError, createLogger, EXIT_CODES, onShutdown } from '@onceledger/runtime'
import { readConfig } from './config.ts'
import { startShard } from './start.ts'

/** Environment -> config -> running shard -> signals. Nothing else is decided here. */
async function main(): Promise<void> {
  const config = readConfig(process.env)
  const log = createLogger({ level: config.logLevel, fields: { service: 'shard', shard: config.shard, pid: process.pid } })
  const shard = await startShard(config, process.env, log)
  onShutdown({ timeoutMs: config.shutdownTimeoutMs, log, process, closed: shard.closed, stop: (timeoutMs) => shard.stop(timeoutMs) })
  log.info({ adminHost: shard.admin.host, adminPort: shard.admin.port }, 'started')
}

main().catch((error: unknown) => {
  const misconfigured = error instanceof ConfigError || error instanceof StoreMisconfigured
  process.stderr.write(`onceledger-shard: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(misconfigured ? EXIT_CODES.misconfigured : EXIT_CODES.failed)
})
