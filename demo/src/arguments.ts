import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

export interface DemoArguments {
  readonly dataFile: string
  readonly json: boolean
  /** Leave servers and data for a look around. */
  readonly keep: boolean
  /** Only the first so many accounts of the file. */
  readonly accountsMax: number
}

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const USAGE = `usage: npm run demo [-- --data FILE --accounts N --json --keep]

  --data FILE    bank transactions as NDJSON, gzipped or not (see test/data/berka/README.md); the default is that file
  --accounts N   only the first N accounts of the file
  --json         one JSON object on stdout; progress stays on stderr
  --keep         leave the servers and the data, and say how to look at them
`

const DEFAULT_DATA = fileURLToPath(new URL('../../test/data/berka/transactions.ndjson.gz', import.meta.url))

/** @throws UsageError */
export function readArguments(given: readonly string[]): DemoArguments {
  try {
    const { values } = parseArgs({
      args: [...given],
      options: {
        data: { type: 'string', default: DEFAULT_DATA },
        accounts: { type: 'string' },
        json: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
      },
    })
    return { dataFile: values.data, json: values.json, keep: values.keep, accountsMax: parseCount(values.accounts) }
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message)
    throw error
  }
}

function parseCount(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError('--accounts must be a number from 1 on')
  return Number(text)
}
