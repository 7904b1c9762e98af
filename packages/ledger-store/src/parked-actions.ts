import type { ShardDatabase } from './session.ts'
import { guardRowCount } from './sql/fence.ts'
import { textLiteral, utf8Literal } from './sql/literal.ts'
import type { ParkedState } from './queries/parked.ts'

export interface OperatorAction {
  readonly id: bigint
  /** The state that the operator saw; in another one nothing is done. */
  readonly from: ParkedState
  readonly actor: string
  /** Why, for whoever reads the audit row; may be empty for a replay. */
  readonly reason: string
  /** Microseconds since 1970, UTC. */
  readonly nowUs: bigint
}

export interface ReplayPlace {
  readonly topic: string
  readonly partition: number
  /** Null where the broker did not say. */
  readonly offset: bigint | null
}

/** The message was appended to its log again. @returns false where it is no longer in the state that the operator saw. */
export function markReplayed(database: ShardDatabase, action: OperatorAction, place: ReplayPlace): Promise<boolean> {
  return record(database, action, 'REPLAYED', place)
}

/** The message needs no verdict any more. Its bytes and its row stay. @returns false as `markReplayed`. */
export function discardParked(database: ShardDatabase, action: OperatorAction): Promise<boolean> {
  return record(database, action, 'DISCARDED', null)
}

/** State and audit row in one transaction, or neither: the compare-and-set decides between two operators. */
async function record(
  database: ShardDatabase,
  { id, from, actor, reason, nowUs }: OperatorAction,
  to: 'REPLAYED' | 'DISCARDED',
  place: ReplayPlace | null,
): Promise<boolean> {
  return database.withSession(async (session) => {
    const [, rows = []] = await session.run(`START TRANSACTION;
      SELECT state
      FROM parked
      WHERE id = ${id}
      FOR UPDATE`)
    if (rows[0]?.[0] !== from) {
      await session.run('ROLLBACK')
      return false
    }
    const at = place === null ? 'NULL, NULL, NULL' : `${textLiteral(place.topic)}, ${place.partition}, ${place.offset ?? 'NULL'}`
    // An action repeated in the same state changes nothing of the row but still leaves its audit row.
    await session.run(
      [
        `UPDATE parked
          SET state = '${to}'
          WHERE id = ${id}`,
        guardRowCount(1),
        `INSERT INTO parked_action (parked_id, action, actor, reason, topic, partition_no, replayed_offset, done_at)
          VALUES (${id}, '${to}', ${utf8Literal(actor)}, ${utf8Literal(reason)}, ${at}, ${nowUs})`,
        'COMMIT',
      ].join(';'),
    )
    return true
  })
}
