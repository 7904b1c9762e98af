import type { Command } from '@onceledger/core'

/**
 * A bounded memory of identities lately committed by this process. It only decides whether reading before the insert is worth it: a hit
 * may be wrong and costs a read, a miss proves nothing, since the unique keys decide (ADJ-2).
 */
export class RecentIdentities {
  readonly #generationMax: number
  #young = new Set<string>()
  #old = new Set<string>()

  /** @param generationMax identities in each of two generations; the older one is dropped when the younger is full. */
  constructor(generationMax = 100_000) {
    this.#generationMax = generationMax
  }

  hasAny(commands: readonly Command[]): boolean {
    const own = new Set<string>()
    for (const command of commands) {
      for (const id of identitiesOf(command)) if (this.#young.has(id) || this.#old.has(id)) return true
      own.add(command.eventId)
    }
    return own.size < commands.length
  }

  add(commands: readonly Command[]): void {
    for (const command of commands) for (const id of identitiesOf(command)) this.#young.add(id)
    if (this.#young.size < this.#generationMax) return
    this.#old = this.#young
    this.#young = new Set()
  }
}

function identitiesOf(command: Command): string[] {
  return command.operationId === null ? [command.eventId] : [command.eventId, command.operationId]
}
