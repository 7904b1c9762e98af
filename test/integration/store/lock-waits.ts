import type { Session } from '@onceledger/ledger-store'

const POLL_MAX = 2_000

/** Asks again, without a pause, until it is so. The question itself goes to the server and takes its time. */
export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < POLL_MAX; i++) if (await isTrue()) return
  throw new Error('the awaited state did not come')
}

/** Until some transaction waits for a lock that this session holds. */
export async function untilSomebodyWaitsFor(session: Session): Promise<void> {
  await until(async () => {
    const [rows] = await session.run(`SELECT COUNT(*)
      FROM performance_schema.data_lock_waits AS w
      JOIN performance_schema.threads AS t ON t.thread_id = w.blocking_thread_id
      WHERE t.processlist_id = CONNECTION_ID()`)
    return Number(rows?.[0]?.[0]) > 0
  })
}
