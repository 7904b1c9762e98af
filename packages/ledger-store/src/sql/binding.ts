import type { BusinessKey, Command, StoredBinding } from '@onceledger/core'
import { bindingKey } from '@onceledger/core'
import type { Names } from '../names.ts'
import type { Row } from '../session.ts'
import { hexLiteral, textLiteral } from './literal.ts'

const KEY = 'tenant_no, operation_type_no, operation_id'

function keyLiterals(command: Command, names: Names): string {
  return `${names.tenantNo(command.tenantId)},${names.operationTypeNo(command.contract.name)},${hexLiteral(command.operationIdHex ?? '')}`
}

export function selectBindings(commands: readonly Command[], names: Names): string {
  const values = commands.map((command, i) => `ROW(${i},${keyLiterals(command, names)})`)
  return `SELECT wanted.i, b.contract_version, b.intent_digest, b.business_key
    FROM (VALUES ${values.join(',')}) AS wanted (i, ${KEY})
    STRAIGHT_JOIN binding AS b FORCE INDEX (PRIMARY)
      ON b.tenant_no = wanted.tenant_no AND b.operation_type_no = wanted.operation_type_no AND b.operation_id = wanted.operation_id`
}

export function parseBindings(rows: readonly Row[], commands: readonly Command[]): Map<string, StoredBinding> {
  const bindings = new Map<string, StoredBinding>()
  for (const [i, version, digest, businessKey] of rows) {
    const command = commands[Number(i)]
    if (command === undefined) continue
    bindings.set(bindingKey(command.tenantId, command.contract.name, command.operationId ?? ''), {
      contractVersion: Number(version),
      digest: (digest as Buffer).toString('hex'),
      businessKey: (businessKey as Buffer).toString('utf8') as BusinessKey,
    })
  }
  return bindings
}

/** The claim of an identity, at its home. */
interface BindingRow {
  readonly command: Command
  /** Home bucket of the identity. */
  readonly bucket: number
}

export function insertBindings(rows: readonly BindingRow[], names: Names, nowUs: bigint): string {
  const values = rows.map(
    ({ command, bucket }) =>
      `(${keyLiterals(command, names)},${command.contract.version},${textLiteral(command.businessKey)},${hexLiteral(command.digest)},` +
      `${bucket},${nowUs})`,
  )
  return `INSERT INTO binding (${KEY}, contract_version, business_key, intent_digest, home_bucket, bound_at)
    VALUES ${values.join(',')}`
}
