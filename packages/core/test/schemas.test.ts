import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { commandSchema, type Contract, encodeCommand, MONEY_CONTRACTS } from '../src/index.ts'

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

  const MEMBERS = {
    ...{ amount: '1', currency: 'EUR', reference: 'rent', overdraftLimit: '0' },
    ...{ targetType: 'deposit', targetOperationId: 'pay-1' },
  }
  const eventOf = ({ name, version, identity, order, data }: Contract): Record<string, unknown> => {
    const { value } = encodeCommand({
      type: `${name}.v${version}`,
      tenantId: 'bank',
      businessKey: 'anna',
      eventId: '0190a000-0000-7000-8000-000000000001',
      ...(identity === 'operation' ? { operationId: 'pay-1' } : {}),
      ...(order === 'none' ? {} : { aggregateVersion: 7n }),
      source: '/test',
      data: Object.fromEntries(Object.entries(MEMBERS).filter(([member]) => member in data.shape)),
    })
    return JSON.parse(value) as Record<string, unknown>
  }

  it.each(MONEY_CONTRACTS.map((contract) => [contract.name, contract.version, contract] as const))(
    'take a %s.v%i that the ledger takes, and not its neighbours',
    (name, version, contract) => {
      const text = readFileSync(new URL(`${name}.v${version}.json`, folder), 'utf8')
      const reader = z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0])
      const event = eventOf(contract)
      const operationid = contract.identity === 'operation' ? undefined : 'pay-1'
      const unversioned = contract.order === 'none' ? [] : [{ ...event, aggregateversion: undefined }]
      const neighbours = [
        ...unversioned,
        { ...event, operationid },
        { ...event, type: 'onceledger.gift.v1' },
        { ...event, specversion: '0.3' },
        { ...event, tenantid: '' },
        { ...event, data: undefined },
        { ...event, data: { ...(event['data'] as object), currency: 'eur' } },
        { ...event, data: { ...(event['data'] as object), [contract.effect.kind === 'post' ? 'amount' : 'currency']: 1 } },
      ].map((each) => JSON.parse(JSON.stringify(each)) as unknown)
      expect([event, { ...event, traceparent: '00-ab' }].map((each) => reader.safeParse(each).success)).toEqual([true, true])
      expect(neighbours.map((each) => reader.safeParse(each).success)).toEqual(neighbours.map(() => false))
    },
  )
})
