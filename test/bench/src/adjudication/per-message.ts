import { accountKey, type Command, idToHex } from '@onceledger/core'
import type { Session } from '@onceledger/ledger-store'
import { type BenchLedger, nowUs } from './ledger.ts'
import type { Lanes } from './workload.ts'

/** Opens the accounts of a workload, so that the timed part only posts to them. */
export async function openAccounts(ledger: BenchLedger, lanes: Lanes): Promise<void> {
  const rows = new Map<string, string>()
  for (const { command } of commandsOfLanes(lanes)) {
    const { aggregateId, tenantId, businessKey, bucket, intent } = command
    const { currency = '' } = intent
    const names = `${ledger.names.tenantNo(tenantId)}, '${businessKey}', ${bucket}`
    rows.set(accountKey(aggregateId, currency), `(x'${aggregateId}', '${currency}', ${names}, 0, 0, 0)`)
  }
  const values = [...rows.values()]
  for (let i = 0; i < values.length; i += 1_000) {
    await ledger.database.withSession((session) =>
      session.run(`INSERT INTO account (aggregate_id, currency, tenant_no, business_key, bucket, version, balance, overdraft_limit)
        VALUES ${values.slice(i, i + 1_000).join(',')}`),
    )
  }
}

/**
 * (a) One transaction a message, in six round trips, as most consumers are written: begin, lock the account, insert the inbox row, insert
 * the operation row, update the balance, commit. It keeps no counter account and no offset, which only makes it faster.
 */
export async function runPerMessage(ledger: BenchLedger, lanes: Lanes): Promise<void> {
  await Promise.all(
    lanes.map((batches) =>
      ledger.database.withSession(async (session) => {
        for (const { command } of commandsOfLanes([batches])) await postOne(session, command, ledger)
      }),
    ),
  )
}

async function postOne(session: Session, command: Command, { names }: BenchLedger): Promise<void> {
  const { aggregateId, intent, bucket, digest } = command
  const { currency = '', amount = '' } = intent
  const account = `aggregate_id = x'${aggregateId}' AND currency = '${currency}'`
  const tenantNo = names.tenantNo(command.tenantId)
  const typeNo = names.operationTypeNo(command.contract.name)
  const now = nowUs()
  const operationId = `x'${idToHex(command.operationId ?? '')}'`
  const eventIdHex = idToHex(command.eventId)
  const eventDay = Math.floor(Number.parseInt(eventIdHex.slice(2, 14), 16) / 86_400_000)
  await session.run('START TRANSACTION')
  const [rows = []] = await session.run(`SELECT version, balance FROM account WHERE ${account} FOR UPDATE`)
  const version = BigInt(String(rows[0]?.[0])) + 1n
  const balance = BigInt(String(rows[0]?.[1])) + BigInt(amount)
  await session.run(`INSERT INTO inbox (tenant_no, consumer_no, event_id, aggregate_id, event_day, contract_version, verdict, reason,
      bucket, operation_type_no, operation_id, source_offset, processed_at)
    VALUES (${tenantNo}, ${names.consumerNo('ledger')}, x'${eventIdHex}', x'${aggregateId}', ${eventDay}, 1, 1, 0,
      ${bucket}, ${typeNo}, ${operationId}, ${command.record.position.offset}, ${now})`)
  await session.run(`INSERT INTO operation (tenant_no, operation_type_no, operation_id, aggregate_id, contract_version, verdict, reason, bucket,
      intent_digest, currency, amount, account_version, balance_after, committed_at)
    VALUES (${tenantNo}, ${typeNo}, ${operationId}, x'${aggregateId}', 1, 1, 0, ${bucket},
      x'${digest}', '${currency}', ${amount}, ${version}, ${balance}, ${now})`)
  await session.run(`UPDATE account SET version = ${version}, balance = ${balance} WHERE ${account}`)
  await session.run('COMMIT')
}

function* commandsOfLanes(lanes: Lanes): Generator<{ command: Command }> {
  for (const batches of lanes) for (const batch of batches) for (const item of batch.items) if (item.kind === 'command') yield item
}
