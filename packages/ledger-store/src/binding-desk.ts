import type { Command, StoredBinding } from '@onceledger/core'

/** Where tenant-wide identities are claimed (RTE-2). */
export interface BindingDesk {
  placeOf(command: Command): { readonly bucket: number; readonly local: boolean }
  localBuckets(commands: readonly Command[]): number[]
  claimRemote(commands: readonly Command[]): Promise<Map<string, StoredBinding>>
}
