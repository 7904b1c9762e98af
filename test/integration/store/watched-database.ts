import type { Row, Session, ShardDatabase } from '@onceledger/ledger-store'

export interface SessionHooks {
  /** Before a packet is sent; may do something behind the transaction's back, throw instead of sending, or return other SQL. */
  readonly beforePacket?: (sql: string, session: Session) => void | string | Promise<void | string>
}

/** A database whose packets a test can see and interfere with. */
export function watchedDatabase(database: ShardDatabase, hooks: SessionHooks): ShardDatabase {
  return {
    close: () => database.close(),
    withSession: (work) =>
      database.withSession((session) =>
        work({
          async run(sql): Promise<Row[][]> {
            const other = await hooks.beforePacket?.(sql, session)
            return session.run(typeof other === 'string' ? other : sql)
          },
        }),
      ),
  }
}

/** The packet that carries a batch's rows and its COMMIT. */
export function isWritePacket(sql: string): boolean {
  return sql.endsWith('COMMIT')
}

/** The packet that opens the transaction, locks and reads. */
export function isReadPacket(sql: string): boolean {
  return sql.startsWith('START TRANSACTION')
}
