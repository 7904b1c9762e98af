import { rmSync } from 'node:fs'
import { identityOf } from './local-servers.ts'
import { endProcess, findRunning } from './server-process.ts'
import { SERVICE_NAMES, type ServiceName } from './service-names.ts'

/** MySQL writes its buffer pool back in this time; past it, SIGKILL and crash recovery do. */
export const STOP_GRACE_MS = 60_000

export function runningServices(dir: string): readonly ServiceName[] {
  return SERVICE_NAMES.filter((name) => findRunning(identityOf(dir, name)) !== undefined)
}

/** Ends services of a stack by their pid files, whoever started them. */
export async function endServices(dir: string, services: readonly ServiceName[], graceMs: number): Promise<void> {
  await Promise.all(services.map((service) => endProcess(identityOf(dir, service), graceMs)))
}

/** Ends every server of a stack folder, and with `wipe` deletes the folder. Returns what it ended. */
export async function stopStackAt(dir: string, wipe: boolean): Promise<readonly ServiceName[]> {
  const running = runningServices(dir)
  await endServices(dir, running, wipe ? 0 : STOP_GRACE_MS)
  if (wipe) {
    rmSync(dir, { recursive: true, force: true })
  }
  return running
}
