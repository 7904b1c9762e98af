import type { Row, Session } from './session.ts'

/** Statements that travel together; each is told at once where its rows will be. */
export class Packet {
  readonly #statements: string[] = []
  #results: readonly Row[][] = []

  /** @returns what reads the statement's rows once the packet was sent: none where it was left out. */
  add(sql: string | null): () => readonly Row[] {
    if (sql === null) return () => []
    const at = this.#statements.push(sql) - 1
    return () => this.#results[at] ?? []
  }

  async send(session: Session): Promise<void> {
    if (this.#statements.length > 0) this.#results = await session.run(this.#statements.join(';'))
  }
}

/** The statement about these, or none where there are none. */
export function ifAny<T>(list: readonly T[], statement: (list: readonly T[]) => string): string | null {
  return list.length > 0 ? statement(list) : null
}
