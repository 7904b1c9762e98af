/** The database cannot be used as it is: wrong settings, wrong schema, wrong contracts. Says what to do. */
export class StoreMisconfigured extends Error {
  override readonly name = 'StoreMisconfigured'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** A bounded number of tries did not reach a decision; nothing was recorded, the same batch may be tried again (ADJ-4). */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
