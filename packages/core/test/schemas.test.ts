import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commandSchema, MONEY_CONTRACTS } from '../src/index.ts'

const folder = new URL('../../../docs/schemas/', import.meta.url)

describe('the published JSON Schemas', () => {
  it.each(MONEY_CONTRACTS.map((contract) => [`${contract.name}.v${contract.version}`, contract] as const))(
    '%s is what validates',
    (name, contract) => {
      expect(JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8'))).toEqual(JSON.parse(JSON.stringify(commandSchema(contract))))
    },
  )

  it('are all there, and no others: run `pnpm schemas` after a change', () => {
    expect(readdirSync(folder).toSorted()).toEqual(MONEY_CONTRACTS.map(({ name, version }) => `${name}.v${version}.json`).toSorted())
  })
})
