import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { type ParkedFilter, type ParkedState } from '@onceledger/ledger-store'
import { groupParkedCommand, listParkedCommand } from './commands/parked.ts'
import { discardParkedCommand } from './commands/parked-discard.ts'
import { replayParkedCommand } from './commands/parked-replay.ts'
import { showParkedCommand } from './commands/parked-show.ts'
import { count, ids, listLength, offset, parkedState, timeUs } from './option-values.ts'
import type { WithLedger } from './program.ts'

interface FilterOptions {
  readonly reason?: string
  readonly tenant?: string
  readonly since?: bigint
  readonly until?: bigint
  readonly limit: number
  readonly shard?: number
}

interface ActorOptions {
  readonly by: string
  readonly reasonText: string
  readonly yes: boolean
}

/** `ledgerctl parked ...`: what could not be judged (ADJ-10). */
export function addParked(program: Command, withLedger: WithLedger): void {
  const parked = program.command('parked').description('messages that could not be judged')
  filtered(parked.command('list').description('what waits, the oldest first'), 100)
    .option('--state <state>', 'PARKED, REPLAYED, DISCARDED or all', parkedState, 'PARKED')
    .action((options: FilterOptions & { state: ParkedState | 'all' }) =>
      withLedger((ledger, output) =>
        listParkedCommand(ledger, output, {
          ...filterOf(options),
          ...shardOf(options),
          ...(options.state === 'all' ? {} : { state: options.state }),
        }),
      ),
    )
  parked
    .command('groups')
    .description('how many wait, by reason')
    .option('--shard <n>', 'one shard only', count)
    .action(({ shard }: { shard?: number }) => withLedger((ledger, output) => groupParkedCommand(ledger, output, shard)))
  parked
    .command('show')
    .description('one message: place, reason, bytes, and what was done with it')
    .requiredOption('--shard <n>', 'its shard', count)
    .argument('<id>', 'its id in that shard', offset)
    .action((id: bigint, { shard }: { shard: number }) => withLedger((ledger, output) => showParkedCommand(ledger, output, { id, shard })))
  addReplay(parked, withLedger)
  addDiscard(parked, withLedger)
}

function addReplay(parked: Command, withLedger: WithLedger): void {
  acted(filtered(parked.command('replay').description('append messages to their log again, to be judged like any other'), 1_000))
    .argument('[ids...]', 'ids in the shard of --shard; without them, all that the filters mean', ids)
    .option('--again', 'also one that was replayed already: it has no second effect', false)
    .action((given: bigint[] | undefined, options: FilterOptions & ActorOptions & { again: boolean }) =>
      withLedger((ledger, output) =>
        replayParkedCommand(ledger, output, {
          ...filterOf(options),
          ...shardOf(options),
          ...(given === undefined || given.length === 0 ? {} : { ids: given }),
          by: options.by,
          reasonText: options.reasonText,
          again: options.again,
          yes: options.yes,
        }),
      ),
    )
}

function addDiscard(parked: Command, withLedger: WithLedger): void {
  acted(parked.command('discard').description('say for good that messages need no verdict; their bytes stay'))
    .requiredOption('--shard <n>', 'their shard', count)
    .argument('<ids...>', 'ids in that shard', ids)
    .action((given: bigint[], options: ActorOptions & { shard: number }) =>
      withLedger((ledger, output) => discardParkedCommand(ledger, output, { ids: given, ...options })),
    )
}

function filtered(command: Command, limit: number): Command {
  return command
    .option('--reason <code>')
    .option('--tenant <id>')
    .option('--since <time>', 'parked at or after, RFC 3339', timeUs)
    .option('--until <time>', 'parked before, RFC 3339', timeUs)
    .option('--limit <n>', 'in all, the oldest first', listLength, limit)
    .option('--shard <n>', 'one shard only', count)
}

function acted(command: Command): Command {
  return command
    .option('--by <name>', 'who does it, for the audit row', userInfo().username)
    .option('--reason-text <text>', 'why, for the audit row', '')
    .option('--yes', 'do it; without it the command only tells what it would do', false)
}

function filterOf({ reason, tenant, since, until, limit }: FilterOptions): ParkedFilter {
  return {
    limit,
    ...(reason === undefined ? {} : { reason }),
    ...(tenant === undefined ? {} : { tenantId: tenant }),
    ...(since === undefined ? {} : { sinceUs: since }),
    ...(until === undefined ? {} : { untilUs: until }),
  }
}

function shardOf({ shard }: FilterOptions): { readonly shard?: number } {
  return shard === undefined ? {} : { shard }
}
