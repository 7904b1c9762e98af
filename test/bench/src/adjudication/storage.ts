import type { ShardDatabase } from '@onceledger/ledger-store'

/** Bytes that a ledger's tables take on disk, by table, after a clean flush of its pages. */
export async function tableBytes(database: ShardDatabase): Promise<Record<string, number>> {
  const tables = ['operation', 'inbox', 'account']
  const [, rows = []] = await database.withSession((session) =>
    session.run(`ANALYZE TABLE ${tables.join(',')};
      SELECT SUBSTRING_INDEX(name, '/', -1), file_size
      FROM information_schema.innodb_tablespaces
      WHERE name LIKE CONCAT(DATABASE(), '/%')`),
  )
  return Object.fromEntries(rows.flatMap(([name, size]) => (tables.includes(String(name)) ? [[String(name), Number(size)]] : [])))
}

export interface BinlogPosition {
  readonly file: string
  readonly position: number
}

export async function binlogPosition(database: ShardDatabase): Promise<BinlogPosition | null> {
  const [rows = []] = await database.withSession((session) => session.run('SHOW BINARY LOG STATUS'))
  const row = rows[0]
  return row === undefined ? null : { file: String(row[0]), position: Number(row[1]) }
}

/** Bytes between two positions, over as many binary log files as lie between them. Null when binary logging is off. */
export async function binlogBytesBetween(
  database: ShardDatabase,
  from: BinlogPosition | null,
  to: BinlogPosition | null,
): Promise<number | null> {
  if (from === null || to === null) return null
  if (from.file === to.file) return to.position - from.position
  const [rows = []] = await database.withSession((session) => session.run('SHOW BINARY LOGS'))
  let bytes = -from.position
  for (const [file, size] of rows) {
    if (String(file) < from.file || String(file) > to.file) continue
    bytes += String(file) === to.file ? to.position : Number(size)
  }
  return bytes
}
