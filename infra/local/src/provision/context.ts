import type { CommandControl } from '../run-command.ts'

/** What every provisioning step is given. */
export interface ProvisionContext extends CommandControl {
  readonly cacheDir: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly onProgress: (line: string) => void
}

/** How long a second clone waits for the first one to finish a download or a build. */
export const PROVISION_LOCK_TIMEOUT_MS = 30 * 60_000
