/** Names an aggregate: every question is asked by its key, so that none reads more than its rows. */
export interface KeyOptions {
  readonly tenant: string
  readonly key: string
}
