import { createHash } from 'node:crypto'
import { type ContractRegistry, describeContract } from '@onceledger/core'
import { StoreMisconfigured } from './errors.ts'
import type { Names } from './names.ts'
import type { ShardDatabase } from './session.ts'
import { bytesLiteral, utf8Literal } from './sql/literal.ts'

/**
 * Registers the contracts of this release in a shard, and refuses to go on where the shard was used with rules that this release
 * does not have: a stored row must stay comparable for ever (IDN-3, IDN-4).
 * @throws StoreMisconfigured `CONTRACT_UNKNOWN` or `CONTRACT_CHANGED`.
 */
export async function registerContracts(database: ShardDatabase, registry: ContractRegistry, names: Names, nowUs: bigint): Promise<void> {
  const own = registry.all().map((contract) => {
    const definition = JSON.stringify(describeContract(contract))
    const typeNo = names.operationTypeNo(contract.name)
    if (typeNo === undefined) throw new StoreMisconfigured('NAME_NOT_INTERNED', `operation type ${contract.name} has no number`)
    return { contract, typeNo, definition, digest: createHash('sha256').update(definition).digest() }
  })
  await database.withSession(async (session) => {
    const [stored = []] = await session.run('SELECT operation_type_no, contract_version, definition_digest FROM contract')
    const known = new Map(stored.map((row) => [`${row[0]}.${row[1]}`, row[2] as Buffer]))
    for (const key of known.keys())
      if (!own.some((mine) => `${mine.typeNo}.${mine.contract.version}` === key))
        throw new StoreMisconfigured('CONTRACT_UNKNOWN', `this shard was used with operation type number and version ${key}, which this release does not know`)
    for (const { contract, typeNo, definition, digest } of own) {
      const before = known.get(`${typeNo}.${contract.version}`)
      if (before?.equals(digest)) continue
      if (before !== undefined)
        throw new StoreMisconfigured('CONTRACT_CHANGED', `${contract.name}.v${contract.version} differs from the rules that this shard was used with; register a new version instead`)
      await session.run(`INSERT INTO contract (operation_type_no, contract_version, definition, definition_digest, registered_at)
        VALUES (${typeNo}, ${contract.version}, ${utf8Literal(definition)}, ${bytesLiteral(digest)}, ${nowUs})
        ON DUPLICATE KEY UPDATE registered_at = contract.registered_at`)
    }
  })
}
