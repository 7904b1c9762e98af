import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { StackError } from './errors.ts'
import { withFileLock } from './file-lock.ts'
import { guardianLockPath } from './guardian.ts'
import { killGroup } from './run-command.ts'
import { commandLineOf, endProcess, isSameProcess, type ProcessIdentity } from './server-process.ts'

const MessageSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('guard'),
    identity: z.object({ pidFile: z.string(), marker: z.string() }),
  }),
  z.object({ kind: z.literal('command-started'), pid: z.int().min(2), marker: z.string() }),
  z.object({ kind: z.literal('command-ended'), pid: z.int() }),
  z.object({ kind: z.literal('release') }),
])

/** A server that was about to be launched when the parent died shows its pid within this time. */
const LAUNCH_GRACE_MS = 500
const STOP_GRACE_MS = 5_000
const LOCK_TIMEOUT_MS = 10_000

// A terminal or a test runner that ends its whole session must not take the guardian with it.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) {
  process.on(signal, () => undefined)
}

const stackDir = process.argv[2]
if (stackDir === undefined) {
  throw new StackError('BAD_SETTING', 'usage: guardian-main.ts STACK_DIR')
}
await withFileLock(guardianLockPath(stackDir), { timeoutMs: LOCK_TIMEOUT_MS }, async () => {
  const charge = await readUntilParentIsGone()
  if (charge !== 'released') {
    await endAll(charge)
  }
})

interface Charge {
  readonly servers: readonly ProcessIdentity[]
  /** Process groups by the pid of their leader, with a text that its command line holds. */
  readonly commands: ReadonlyMap<number, string>
}

async function readUntilParentIsGone(): Promise<Charge | 'released'> {
  const servers = new Map<string, ProcessIdentity>()
  const commands = new Map<number, string>()
  for await (const line of createInterface({ input: process.stdin })) {
    const message = MessageSchema.parse(JSON.parse(line))
    switch (message.kind) {
      case 'guard':
        servers.set(message.identity.pidFile, message.identity)
        break
      case 'command-started':
        commands.set(message.pid, message.marker)
        break
      case 'command-ended':
        commands.delete(message.pid)
        break
      case 'release':
        return 'released'
    }
  }
  return { servers: [...servers.values()], commands }
}

async function endAll(charge: Charge): Promise<void> {
  for (const [pid, marker] of charge.commands) {
    if (isSameProcess(commandLineOf(pid), marker)) {
      killGroup(pid)
    }
  }
  await delay(LAUNCH_GRACE_MS)
  await Promise.all(charge.servers.map((identity) => endProcess(identity, STOP_GRACE_MS)))
}
