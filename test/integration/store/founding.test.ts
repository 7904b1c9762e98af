import { type Contract, createContractRegistry, MONEY_CONTRACTS } from '@onceledger/core'
import {
  assertShardIdentity,
  checkDurability,
  claimBuckets,
  foundSystem,
  loadFoundation,
  loadOwnedBuckets,
  loadShardMap,
  openNames,
  registerContracts,
} from '@onceledger/ledger-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BUCKET_COUNT, createStoreLedger, nowUs, type StoreLedger } from '../../support/store-ledger.ts'

let ledger: StoreLedger
beforeEach(async () => {
  ledger = await createStoreLedger()
})
afterEach(() => ledger.drop())

/** As if nothing had been founded yet. */
async function unfound(): Promise<void> {
  await ledger.control.withSession((session) => session.run('DELETE FROM setting; DELETE FROM shard; DELETE FROM bucket_map'))
  await ledger.rows('DELETE FROM owned_bucket; DELETE FROM shard_identity; DELETE FROM contract')
}

describe('a system', () => {
  it('[RTE-1] founded by several processes at once is founded once, its buckets claimed once', async () => {
    await unfound()
    const foundation = { topic: ledger.topic, bucketCount: BUCKET_COUNT, shardCount: 1 }
    await Promise.all(Array.from({ length: 2 }, () => foundSystem(ledger.control, foundation)))
    await Promise.all(Array.from({ length: 2 }, () => claimBuckets(ledger.control, ledger.database, 0)))
    expect(await loadFoundation(ledger.control)).toEqual(foundation)
    expect((await loadShardMap(ledger.control)).owners).toHaveLength(BUCKET_COUNT)
    expect(await loadOwnedBuckets(ledger.database)).toEqual([0, 1, 2, 3])
  })

  it.each([
    ['topic', { topic: 'other' }],
    ['bucket count', { bucketCount: BUCKET_COUNT * 2 }],
    ['shard count', { shardCount: 2 }],
  ])('[RTE-1] that stands is never founded with another %s', async (_what, change) => {
    const foundation = { topic: ledger.topic, bucketCount: BUCKET_COUNT, shardCount: 1, ...change }
    await expect(foundSystem(ledger.control, foundation)).rejects.toMatchObject({ name: 'StoreMisconfigured', code: 'FOUNDATION_DIFFERS' })
  })

  it('[RTE-2] never lets a shard start that was emptied', async () => {
    await ledger.rows('DELETE FROM owned_bucket')
    await expect(claimBuckets(ledger.control, ledger.database, 0)).rejects.toMatchObject({
      name: 'StoreMisconfigured',
      code: 'SHARD_EMPTIED',
    })
    expect(await loadOwnedBuckets(ledger.database)).toEqual([])
  })

  it.each([
    ['of another system', `UPDATE shard_identity SET system_id = RANDOM_BYTES(16)`],
    ['of another shard', `UPDATE shard_identity SET shard_no = 1`],
    ['without an identity', `DELETE FROM shard_identity`],
  ])('[RTE-2] refuses the database %s, whose numbers would stand for other names', async (_what, sql) => {
    await ledger.rows(sql)
    const refusal = { name: 'StoreMisconfigured', code: 'OTHER_SYSTEM' }
    await expect(assertShardIdentity(ledger.control, ledger.database, 0)).rejects.toMatchObject(refusal)
    await expect(claimBuckets(ledger.control, ledger.database, 0)).rejects.toMatchObject(refusal)
  })

  it('[RTE-2] refuses a used shard beside a control schema that was lost and founded anew', async () => {
    await ledger.control.withSession((session) => session.run('DELETE FROM setting; DELETE FROM shard; DELETE FROM bucket_map'))
    await foundSystem(ledger.control, { topic: ledger.topic, bucketCount: BUCKET_COUNT, shardCount: 1 })
    await expect(claimBuckets(ledger.control, ledger.database, 0)).rejects.toMatchObject({ code: 'OTHER_SYSTEM' })
  })

  it('[RTE-2] lets a shard start whose buckets are all frozen, and thaws none', async () => {
    await ledger.rows(`UPDATE owned_bucket SET state = 'FROZEN'`)
    await claimBuckets(ledger.control, ledger.database, 0)
    expect(await loadOwnedBuckets(ledger.database)).toEqual([])
    expect(await ledger.value(`SELECT COUNT(*) FROM owned_bucket WHERE state = 'FROZEN'`)).toBe(String(BUCKET_COUNT))
  })

  it('[RTE-2] finishes a claim that was interrupted between the two databases', async () => {
    await ledger.control.withSession((session) => session.run(`DELETE FROM setting WHERE name = 'claimed.shard.0'`))
    await claimBuckets(ledger.control, ledger.database, 0)
    await ledger.rows('DELETE FROM owned_bucket')
    await expect(claimBuckets(ledger.control, ledger.database, 0)).rejects.toMatchObject({ code: 'SHARD_EMPTIED' })
  })
})

function registryWith(change: (contract: Contract) => Contract | null): ReturnType<typeof createContractRegistry> {
  return createContractRegistry(MONEY_CONTRACTS.flatMap((contract) => change(contract) ?? []))
}

const CHANGED = registryWith((contract) => (contract.name === 'open' ? { ...contract, clockSkewMs: 1 } : contract))

describe('contracts', () => {
  it('[IDN-3] are registered again without a change', async () => {
    const before = await ledger.rows('SELECT * FROM contract')
    await registerContracts(ledger.database, ledger.registry, ledger.names, nowUs())
    expect(await ledger.rows('SELECT * FROM contract')).toEqual(before)
    expect(before).toHaveLength(MONEY_CONTRACTS.length)
  })

  it.each([
    ['changed under its old number', CHANGED, 'CONTRACT_CHANGED'],
    [
      'forgotten',
      registryWith((contract) => (contract.name === 'deposit' && contract.version === 2 ? null : contract)),
      'CONTRACT_UNKNOWN',
    ],
  ])('[IDN-3] [IDN-4] a contract that was %s is refused, and nothing is overwritten', async (_case, registry, code) => {
    const before = await ledger.rows('SELECT * FROM contract')
    await expect(registerContracts(ledger.database, registry, ledger.names, nowUs())).rejects.toMatchObject({
      name: 'StoreMisconfigured',
      code,
    })
    expect(await ledger.rows('SELECT * FROM contract')).toEqual(before)
  })

  it('[IDN-3] of two releases that register other rules under one number at once, one is refused', async () => {
    await ledger.rows('DELETE FROM contract')
    const outcomes = await Promise.allSettled(
      [CHANGED, ledger.registry].map((registry) => registerContracts(ledger.database, registry, ledger.names, nowUs())),
    )
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  it('[IDN-2] interned names keep their numbers, whoever asks and in whatever order', async () => {
    const two = await Promise.all([openNames(ledger.control, ledger.registry), openNames(ledger.control, ledger.registry)])
    await Promise.all([two[0].resolveTenants(['a', 'b', 'a ']), two[1].resolveTenants(['b', 'a ', 'a', 'A'])])
    expect(['a', 'b', 'a '].map((tenant) => two[0].tenantNo(tenant))).toEqual(['a', 'b', 'a '].map((tenant) => two[1].tenantNo(tenant)))
    expect(new Set(['a', 'b', 'a ', 'A'].map((tenant) => two[1].tenantNo(tenant))).size).toBe(4)
    expect(() => two[0].tenantNo('A')).toThrow(expect.objectContaining({ code: 'NAME_NOT_INTERNED' }))
  })
})

describe('the server', () => {
  it('[ADJ-1] of the tests keeps acknowledged commits', async () => {
    await expect(checkDurability(ledger.database)).resolves.toBeUndefined()
  })
})
