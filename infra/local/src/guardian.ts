import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StackError } from './errors.ts';
import type { ProcessIdentity } from './server-process.ts';

const GUARDIAN_MAIN = fileURLToPath(new URL('./guardian-main.ts', import.meta.url));

/** What the guardian is told, one JSON object a line. */
export type GuardianMessage =
  | { readonly kind: 'guard'; readonly identity: ProcessIdentity }
  | { readonly kind: 'release' };

/**
 * A small process beside this one that ends the servers it was told of when this process is gone,
 * however it went: it reads from a pipe whose other end only this process holds, and the kernel
 * closes that end even after SIGKILL.
 */
export interface Guardian {
  /** Say it before the server is launched, so that there is no moment without a guard. */
  readonly guard: (identity: ProcessIdentity) => void;
  /** Lets the guardian go without ending anything. */
  readonly release: () => Promise<void>;
}

export function startGuardian(stackDir: string): Guardian {
  const log = openSync(join(stackDir, 'guardian.log'), 'a');
  // A session of its own: what ends this program's process group must not end its guardian.
  const child = spawn(process.execPath, [GUARDIAN_MAIN, stackDir], {
    stdio: ['pipe', log, log],
    detached: true,
  });
  closeSync(log);
  const { stdin } = child;
  if (stdin === null) {
    throw new StackError('START_FAILED', 'the guardian was started without a pipe');
  }
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  stdin.on('error', () => undefined);
  child.unref();
  const send = (message: GuardianMessage) => {
    if (!stdin.writable) {
      throw new StackError('START_FAILED', `the guardian of ${stackDir} has ended; see guardian.log`);
    }
    stdin.write(`${JSON.stringify(message)}\n`);
  };
  return {
    guard: (identity) => send({ kind: 'guard', identity }),
    release: async () => {
      if (stdin.writable) {
        send({ kind: 'release' });
        stdin.end();
      }
      child.ref();
      await ended;
    },
  };
}
