import { mkdirSync, writeFileSync } from 'node:fs'
import { commandSchema, MONEY_CONTRACTS } from './src/index.ts'

/** `pnpm schemas`: writes docs/schemas anew. A unit test fails while they are stale. */
const folder = new URL('../../docs/schemas/', import.meta.url)
mkdirSync(folder, { recursive: true })
for (const contract of MONEY_CONTRACTS) {
  const file = new URL(`${contract.name}.v${contract.version}.json`, folder)
  writeFileSync(file, `${JSON.stringify(commandSchema(contract), null, 2)}\n`)
  process.stderr.write(`wrote docs/schemas/${contract.name}.v${contract.version}.json\n`)
}
