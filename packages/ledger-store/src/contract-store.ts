import { createHash } from 'node:crypto'
import { type Contract, type ContractRegistry, describeContract } from '@onceledger/core'
import { StoreMisconfigured } from './errors.ts'
import type { Names } from './names.ts'
import type { Session, ShardDatabase } from './session.ts'
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
    return { contract, typeNo, definition, digest: createHash('sha256').update(definition).digest() }
  })
  await database.withSession(async (session) => {
    const missing = unregistered(own, await storedContracts(session))
    if (missing.length === 0) return
    const values = missing.map(
      ({ contract, typeNo, definition, digest }) =>
        `(${typeNo}, ${contract.version}, ${utf8Literal(definition)}, ${bytesLiteral(digest)}, ${nowUs})`,
    )
    await session.run(`INSERT INTO contract (operation_type_no, contract_version, definition, definition_digest, registered_at)
      VALUES ${values.join(',')}
      ON DUPLICATE KEY UPDATE registered_at = contract.registered_at`)
    // Another release may have registered other rules under the same number meanwhile: what stands now decides.
    unregistered(own, await storedContracts(session))
  })
}

interface OwnContract {
  readonly contract: Contract
  readonly typeNo: number
  readonly definition: string
  readonly digest: Buffer
}

async function storedContracts(session: Session): Promise<Map<string, Buffer>> {
  const [rows = []] = await session.run('SELECT operation_type_no, contract_version, definition_digest FROM contract')
  return new Map(rows.map(([typeNo, version, digest]) => [`${String(typeNo)}.${String(version)}`, digest as Buffer]))
}

/** The contracts that the shard has not seen yet. @throws StoreMisconfigured where it was used with rules that are not ours. */
function unregistered(own: readonly OwnContract[], stored: ReadonlyMap<string, Buffer>): OwnContract[] {
  for (const key of stored.keys())
    if (!own.some(({ typeNo, contract }) => `${typeNo}.${contract.version}` === key))
      throw new StoreMisconfigured(
        'CONTRACT_UNKNOWN',
        `this shard was used with operation type number and version ${key}, which this release does not know`,
      )
  return own.filter(({ contract, typeNo, digest }) => {
    const before = stored.get(`${typeNo}.${contract.version}`)
    if (before !== undefined && !before.equals(digest))
      throw new StoreMisconfigured(
        'CONTRACT_CHANGED',
        `${contract.name}.v${contract.version} differs from the rules that this shard was used with; register a new version instead`,
      )
    return before === undefined
  })
}
