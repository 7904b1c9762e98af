import type { Command } from '@onceledger/core'

/** 2^18 fingerprints of 4 bytes: about the last hundred thousand commands of a process, in one MiB. */
const SLOTS = 1 << 18
/** FNV-1a, 32 bits: offset basis and prime (draft-eastlake-fnv). */
const FNV_BASIS = 0x811c9dc5
const FNV_PRIME = 0x01000193

/**
 * A bounded memory of identities lately committed by this process. It only decides whether reading before the insert is worth it: a hit
 * may be wrong and costs a read, a miss proves nothing, since the unique keys decide (ADJ-2). Newer identities overwrite older ones.
 */
export class RecentIdentities {
  readonly #fingerprints = new Int32Array(SLOTS)

  hasAny(commands: readonly Command[]): boolean {
    return commands.some(
      (command) => this.#has(command.eventIdHex) || (command.operationIdHex !== null && this.#has(command.operationIdHex)),
    )
  }

  add(commands: readonly Command[]): void {
    for (const command of commands) {
      this.#put(command.eventIdHex)
      if (command.operationIdHex !== null) this.#put(command.operationIdHex)
    }
  }

  #has(idHex: string): boolean {
    const print = fingerprint(idHex)
    return this.#fingerprints[slotOf(print)] === print
  }

  #put(idHex: string): void {
    const print = fingerprint(idHex)
    this.#fingerprints[slotOf(print)] = print
  }
}

/** The end of an id is where ids of one sender differ: 8 bytes of it are enough for a guess. */
const DIGITS_USED = 16

/** Never zero, which marks an empty slot. */
function fingerprint(idHex: string): number {
  let state = FNV_BASIS
  for (let i = Math.max(0, idHex.length - DIGITS_USED); i < idHex.length; i++) state = Math.imul(state ^ idHex.charCodeAt(i), FNV_PRIME)
  return state === 0 ? 1 : state
}

/** FNV leaves the low bits of short ids alike; murmur's finaliser spreads them. */
function slotOf(print: number): number {
  const mixed = Math.imul(print ^ (print >>> 16), 0x85ebca6b)
  return (mixed ^ (mixed >>> 13)) & (SLOTS - 1)
}
