export interface Readiness {
  readonly ok: boolean
  /** Every check that fails, with its reason. */
  readonly reasons: Readonly<Record<string, string>>
}

/** What stands against taking work, by named check. A check that was never set does not stand against anything. */
export class HealthState {
  readonly #failing = new Map<string, string>()

  set(check: string, ok: boolean, reason: string): void {
    if (ok) this.#failing.delete(check)
    else this.#failing.set(check, reason)
  }

  clear(check: string): void {
    this.#failing.delete(check)
  }

  ready(): Readiness {
    return { ok: this.#failing.size === 0, reasons: Object.fromEntries(this.#failing) }
  }
}
