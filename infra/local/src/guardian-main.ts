import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { endProcess, type ProcessIdentity } from './server-process.ts';

const MessageSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('guard'),
    identity: z.object({ pidFile: z.string(), marker: z.string() }),
  }),
  z.object({ kind: z.literal('release') }),
]);

/** A server that was about to be launched when the parent died shows its pid within this time. */
const LAUNCH_GRACE_MS = 500;
const STOP_GRACE_MS = 5_000;

// A terminal or a test runner that ends its whole session must not take the guardian with it.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) {
  process.on(signal, () => undefined);
}

const guarded = new Map<string, ProcessIdentity>();
let released = false;
for await (const line of createInterface({ input: process.stdin })) {
  const message = MessageSchema.parse(JSON.parse(line));
  if (message.kind === 'release') {
    released = true;
  } else {
    guarded.set(message.identity.pidFile, message.identity);
  }
}
if (!released) {
  await delay(LAUNCH_GRACE_MS);
  await Promise.all([...guarded.values()].map((identity) => endProcess(identity, STOP_GRACE_MS)));
}
