import { StoreMisconfigured } from './errors.ts'
import type { ShardDatabase } from './session.ts'

const DURABLE: Readonly<Record<string, string>> = { innodb_flush_log_at_trx_commit: '1', sync_binlog: '1', innodb_doublewrite: 'ON' }

/**
 * A commit that is acknowledged must survive a power cut, or every promise about "once" is void.
 * @throws StoreMisconfigured naming each setting of the server that would let an acknowledged commit be lost.
 */
export async function checkDurability(database: ShardDatabase): Promise<void> {
  const names = Object.keys(DURABLE)
  const [rows = []] = await database.withSession((session) => session.run(`SELECT ${names.map((name) => `@@global.${name}`).join(', ')}`))
  const wrong = names.flatMap((name, i) => {
    const actual = String(rows[0]?.[i])
    const matches = actual === DURABLE[name] || (DURABLE[name] === 'ON' && actual === '1')
    return matches ? [] : [`${name} is ${actual}, must be ${DURABLE[name]}`]
  })
  if (wrong.length > 0) throw new StoreMisconfigured('NOT_DURABLE', `the server can lose acknowledged commits: ${wrong.join('; ')}`)
}
