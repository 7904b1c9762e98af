import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

export interface DemoArguments {
  readonly dataFile: string
  readonly json: boolean
  /** Leave servers and data for a look around. */
  readonly keep: boolean
  /** Only the first so many accounts of the file. */
  readonly accountsMax: number
  /** Rows of a window inside of which the file is shuffled; 0 leaves it as it is. */
  readonly shuffleRows: number
  readonly seed: number
}

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const USAGE = `usage: npm run demo [-- --data FILE --accounts N --shuffle N --seed S --json --keep]

  --data FILE    bank transactions as NDJSON, gzipped or not (see test/data/berka/README.md); the default is that file
  --accounts N   only the first N accounts of the file
  --shuffle N    shuffle the file inside windows of N rows; without it its own order, which is not that of the accounts
  --seed S       a number that makes the shuffle, the message ids and the kill's choice repeatable
  --json         one JSON object on stdout; progress stays on stderr
  --keep         leave the servers and the data, and say how to look at them
`

const DEFAULT_SEED = 20_261_201
const DEFAULT_DATA = fileURLToPath(new URL('../../test/data/berka/transactions.ndjson.gz', import.meta.url))

/** @throws UsageError */
export function readArguments(given: readonly string[]): DemoArguments {
  try {
    const { values } = parseArgs({
      args: [...given],
      options: {
        data: { type: 'string', default: DEFAULT_DATA },
        accounts: { type: 'string' },
        shuffle: { type: 'string' },
        seed: { type: 'string' },
        json: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
      },
    })
    return {
      dataFile: values.data,
      json: values.json,
      keep: values.keep,
      accountsMax: parseCount('--accounts', values.accounts) ?? Number.POSITIVE_INFINITY,
      shuffleRows: parseCount('--shuffle', values.shuffle) ?? 0,
      seed: parseCount('--seed', values.seed) ?? DEFAULT_SEED,
    }
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message)
    throw error
  }
}

function parseCount(option: string, text: string | undefined): number | null {
  if (text === undefined) return null
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`${option} must be a number from 1 on`)
  return Number(text)
}
