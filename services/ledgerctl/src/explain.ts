import { CommandLogError } from '@onceledger/command-log'
import { InvalidCommand } from '@onceledger/core'
import { StoreMisconfigured, StoreUnavailable } from '@onceledger/ledger-store'
import { ConfigError, maskSecret } from '@onceledger/runtime'
import { CommandFailed, EXIT } from './exit.ts'

export interface Explanation {
  readonly exitCode: number
  readonly message: string
}

/** What went wrong, for a person, and the exit code that says what kind of thing it was. */
export function explain(error: unknown): Explanation {
  if (error instanceof CommandFailed) return { exitCode: error.exitCode, message: error.message }
  if (error instanceof ConfigError || error instanceof StoreMisconfigured) return { exitCode: EXIT.usage, message: error.message }
  if (error instanceof InvalidCommand) return { exitCode: EXIT.refused, message: `${error.code}: ${error.message}` }
  if (error instanceof StoreUnavailable || error instanceof CommandLogError) return { exitCode: EXIT.unreachable, message: error.message }
  const { code, errno } = error as { code?: unknown; errno?: unknown }
  const message = maskSecret('', error instanceof Error ? error.message : String(error))
  // Node's and MySQL's connection errors carry a code; the database that is named but not there is 1049.
  if (errno === 1049) return { exitCode: EXIT.usage, message: `${message}; run: ledgerctl migrate` }
  if (typeof code === 'string') return { exitCode: EXIT.unreachable, message: `${code}: ${message || 'no answer'}; is the server running?` }
  return { exitCode: EXIT.unreachable, message: error instanceof Error ? maskSecret('', error.stack ?? message) : message }
}
