/** Exit codes of ledgerctl, as `--help` and docs/cli.md list them. 70 is EX_SOFTWARE of BSD's sysexits.h. */
export const EXIT = { ok: 0, finding: 1, usage: 2, unreachable: 3, refused: 4, notDone: 5, internal: 70 } as const

export const EXIT_HELP = `
Exit codes:
  0   done
  1   not found, or a check found something
  2   wrong usage or configuration, or the servers are not set up as this release needs them
  3   a server cannot be reached or does not answer in time
  4   input was refused, and what was refused was not sent
  5   submit --wait: a command was neither applied nor known already
  70  a fault of ledgerctl itself; please report it

Environment:
  ONCELEDGER_MYSQL_URLS      one URL for each shard, in order: mysql://user:password@host:port/database,...
  ONCELEDGER_CONTROL_URL     the control schema; default: <first database>_control beside shard 0
  ONCELEDGER_KAFKA_BROKERS   host:port,...
`

/** Ends the command with a code and a sentence on stderr that says what to do. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  readonly exitCode: number
  constructor(exitCode: number, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}
