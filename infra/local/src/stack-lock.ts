import { withFileLock } from './file-lock.ts'
import { PROVISION_LOCK_TIMEOUT_MS } from './provision/context.ts'

/**
 * One process at a time starts, stops or wipes a stack. The lock lies beside the folder, so that it
 * outlives a wipe.
 */
export function withStackLock<T>(
  dir: string,
  options: { signal?: AbortSignal | undefined; onProgress: (line: string) => void },
  work: () => Promise<T>,
): Promise<T> {
  return withFileLock(
    `${dir}.lock`,
    {
      timeoutMs: PROVISION_LOCK_TIMEOUT_MS,
      signal: options.signal,
      onWait: () => options.onProgress('waiting for another process that works on this stack'),
    },
    work,
  )
}
