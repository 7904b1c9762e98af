export interface Readiness {
  readonly ok: boolean
  /** Every check that fails, with its reason. */
  readonly reasons: Readonly<Record<string, string>>
}

/** What stands against taking work, by named check. A check that was never set does not stand against anything. */
export class HealthState {
  readonly #failing = new Map<string, string>()
  #fatal: string | null = null

  set(check: string, ok: boolean, reason: string): void {
    if (ok) this.#failing.delete(check)
    else this.#failing.set(check, reason)
  }

  clear(check: string): void {
    this.#failing.delete(check)
  }

  /** Nothing but a new process can help. There is no way back; the first reason stays. */
  setFatal(reason: string): void {
    this.#fatal ??= reason
  }

  /** Why a supervisor should replace this process, or null. */
  fatal(): string | null {
    return this.#fatal
  }

  ready(): Readiness {
    const reasons = Object.fromEntries(this.#failing)
    return this.#fatal === null ? { ok: this.#failing.size === 0, reasons } : { ok: false, reasons: { ...reasons, fatal: this.#fatal } }
  }
}
