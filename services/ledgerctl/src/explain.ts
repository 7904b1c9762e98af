import { CommandLogError, type CommandLogErrorCode } from '@onceledger/command-log'
import { CorruptData, InvalidCommand } from '@onceledger/core'
import { isDatabaseFault, StoreMisconfigured, StoreUnavailable } from '@onceledger/ledger-store'
import { ConfigError, maskSecret } from '@onceledger/runtime'
import { ShardMapError } from '@onceledger/shard-map'
import { CommandFailed, EXIT } from './exit.ts'

export interface Explanation {
  readonly exitCode: number
  readonly message: string
}

/** What went wrong, for a person, and the exit code that says what kind of thing it was. Passwords of URLs are masked. */
export function explain(error: unknown): Explanation {
  const { exitCode, message } = judge(error)
  return { exitCode, message: maskSecret('', message) }
}

function judge(error: unknown): Explanation {
  if (error instanceof CommandFailed) return { exitCode: error.exitCode, message: error.message }
  if (error instanceof ConfigError || error instanceof StoreMisconfigured || error instanceof ShardMapError)
    return { exitCode: EXIT.usage, message: error.message }
  if (error instanceof InvalidCommand) return { exitCode: EXIT.refused, message: `${error.code}: ${error.message}` }
  if (error instanceof CorruptData) return { exitCode: EXIT.finding, message: `${error.code}: ${error.message}` }
  if (error instanceof StoreUnavailable) return { exitCode: EXIT.unreachable, message: error.message }
  if (error instanceof CommandLogError) return explainLog(error)
  return explainForeign(error)
}

const LOG_ADVICE: Partial<Readonly<Record<CommandLogErrorCode, Explanation>>> = {
  TOPIC_UNKNOWN: { exitCode: EXIT.usage, message: 'run: ledgerctl migrate' },
  TOPIC_PARTITIONS_DIFFER: { exitCode: EXIT.usage, message: 'use another topic, or --buckets as the topic has partitions' },
}

function explainLog({ code, message }: CommandLogError): Explanation {
  const { exitCode, message: advice } = LOG_ADVICE[code] ?? { exitCode: EXIT.unreachable, message: 'is Kafka running?' }
  return { exitCode, message: `${message}; ${advice}` }
}

/** Of MySQL: unknown database, no such table. */
const NOT_MIGRATED = new Set<unknown>([1049, 1146])
/** Of MySQL: access denied to the database, to the server, to a table, and without a password. */
const DENIED = new Set<unknown>([1044, 1045, 1142, 1698])
/** Of this machine's files: disk, rights, number of open files. */
const LOCAL = new Set<unknown>(['EACCES', 'EDQUOT', 'EIO', 'EISDIR', 'EMFILE', 'ENOENT', 'ENOSPC', 'EPERM', 'EROFS'])

/** Errors of Node and of the MySQL client carry codes; whatever has none is our own. */
function explainForeign(error: unknown): Explanation {
  const { code, errno } = error as { code?: unknown; errno?: unknown }
  const message = error instanceof Error ? error.message : String(error)
  const said = [code, message].filter((part) => typeof part === 'string' && part !== '').join(': ')
  if (NOT_MIGRATED.has(errno)) return { exitCode: EXIT.usage, message: `${said}; run: ledgerctl migrate` }
  if (DENIED.has(errno)) return { exitCode: EXIT.usage, message: `${said}; check the user, its password and its rights` }
  if (LOCAL.has(code)) return { exitCode: EXIT.usage, message: said }
  if (isDatabaseFault(error)) return { exitCode: EXIT.unreachable, message: `${said}; is the server running?` }
  return { exitCode: EXIT.internal, message: error instanceof Error ? (error.stack ?? message) : message }
}
