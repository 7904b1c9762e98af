import type { ContractRegistry } from '@onceledger/core'
import { StoreMisconfigured } from './errors.ts'
import type { ShardDatabase } from './session.ts'
import { textLiteral } from './sql/literal.ts'

/** Numbers that stand for names in rows. They come from the control schema, are allocated once and never reused. */
export interface Names {
  /** Numbers of all these tenants; unknown ones are allocated. Answers from memory where it can. */
  resolveTenants(tenantIds: Iterable<string>): Promise<void>
  /** @throws StoreMisconfigured when the tenant was not resolved before. */
  tenantNo(tenantId: string): number
  /** @throws StoreMisconfigured when no contract of that name was interned: rows of two unknown types must never share a number. */
  operationTypeNo(name: string): number
  /** undefined for a type that no contract of this release has; a message may name any. */
  findOperationTypeNo(name: string): number | undefined
  operationTypeName(operationTypeNo: number): string | undefined
  consumerNo(name: string): number
}

type NameTable = 'tenant' | 'operation_type' | 'consumer'

const COLUMNS: Readonly<Record<NameTable, { readonly no: string; readonly name: string }>> = {
  tenant: { no: 'tenant_no', name: 'tenant_id' },
  operation_type: { no: 'operation_type_no', name: 'name' },
  consumer: { no: 'consumer_no', name: 'name' },
}

/** Interns the names of all registered contracts, so that adjudication asks the control schema only for new tenants. */
export async function openNames(control: ShardDatabase, registry: ContractRegistry): Promise<Names> {
  const tenants = new Map<string, number>()
  const types = await intern(control, 'operation_type', new Set(registry.all().map((contract) => contract.name)))
  const consumers = await intern(control, 'consumer', new Set(registry.all().map((contract) => contract.consumer)))
  const typeNames = new Map([...types].map(([name, no]) => [no, name]))
  return {
    async resolveTenants(tenantIds) {
      const missing = new Set<string>()
      for (const tenantId of tenantIds) if (!tenants.has(tenantId)) missing.add(tenantId)
      if (missing.size === 0) return
      for (const [tenantId, no] of await intern(control, 'tenant', missing)) tenants.set(tenantId, no)
    },
    tenantNo: (tenantId) => required(tenants, tenantId, 'tenant'),
    operationTypeNo: (name) => required(types, name, 'operation type'),
    findOperationTypeNo: (name) => types.get(name),
    operationTypeName: (no) => typeNames.get(no),
    consumerNo: (name) => required(consumers, name, 'consumer'),
  }
}

/** The number of one tenant, or undefined when it was never allocated. */
export async function findTenantNo(control: ShardDatabase, tenantId: string): Promise<number | undefined> {
  return (await select(control, 'tenant', new Set([tenantId]))).get(tenantId)
}

/** The names of these tenants. */
export async function loadTenantIds(control: ShardDatabase, tenantNos: readonly number[]): Promise<Map<number, string>> {
  if (tenantNos.length === 0) return new Map()
  const [rows = []] = await control.withSession((session) =>
    session.run(`SELECT tenant_no, tenant_id
      FROM tenant
      WHERE tenant_no IN (${[...new Set(tenantNos)].join(',')})`),
  )
  return new Map(rows.map(([no, id]) => [Number(no), (id as Buffer).toString('utf8')]))
}

/** Two processes may insert the same name at once: the unique key lets one win, and both then read what stands. */
async function intern(control: ShardDatabase, table: NameTable, names: ReadonlySet<string>): Promise<Map<string, number>> {
  const known = await select(control, table, names)
  const missing = [...names].filter((name) => !known.has(name)).sort()
  if (missing.length === 0) return known
  const { name: column } = COLUMNS[table]
  await control.withSession((session) =>
    session.run(`INSERT INTO ${table} (${column})
      VALUES ${missing.map((name) => `(${textLiteral(name)})`).join(',')}
      ON DUPLICATE KEY UPDATE ${column} = VALUES(${column})`),
  )
  return select(control, table, names)
}

async function select(control: ShardDatabase, table: NameTable, names: ReadonlySet<string>): Promise<Map<string, number>> {
  const { no, name } = COLUMNS[table]
  const [rows = []] = await control.withSession((session) =>
    session.run(`SELECT ${no}, ${name}
      FROM ${table}
      WHERE ${name} IN (${[...names].map(textLiteral).join(',')})`),
  )
  return new Map(rows.map((row) => [(row[1] as Buffer).toString('utf8'), Number(row[0])]))
}

function required(numbers: ReadonlyMap<string, number>, name: string, what: string): number {
  const no = numbers.get(name)
  if (no === undefined) throw new StoreMisconfigured('NAME_NOT_INTERNED', `${what} ${JSON.stringify(name)} has no number`)
  return no
}
