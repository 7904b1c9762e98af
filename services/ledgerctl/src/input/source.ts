import { randomBytes } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandFailed, EXIT } from '../exit.ts'

/** What commands are read from. */
export interface Source {
  /** null where the end is not known before it is reached. */
  readonly sizeBytes: number | null
  /** Whether `read` may be called again, from the beginning. */
  readonly repeatable: boolean
  read(): AsyncIterable<Buffer>
  close(): Promise<void>
}

const SPOOL_BYTES_MAX = 8 * 1024 ** 3
const CANNOT_OPEN: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'it may not be read by this user',
  EPERM: 'it may not be read by this user',
}

/**
 * Opens a path, or standard input for `-`.
 * @throws CommandFailed where it cannot be opened or is a folder.
 */
export async function openSource(file: string, stdin: AsyncIterable<Buffer>): Promise<Source> {
  if (file === '-') return { sizeBytes: null, repeatable: false, read: () => stdin, close: async () => {} }
  const handle = await openFile(file)
  const stat = await handle.stat()
  if (stat.isDirectory()) {
    await handle.close()
    throw new CommandFailed(EXIT.usage, `${JSON.stringify(file)} is a folder; name a file, or - for standard input`)
  }
  return stat.isFile()
    ? sourceOf(handle, stat.size)
    : { ...sourceOf(handle, null), repeatable: false, read: () => handle.createReadStream() }
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r')
  } catch (error) {
    const why = CANNOT_OPEN[(error as { code?: string }).code ?? '']
    if (why === undefined) throw error
    throw new CommandFailed(EXIT.usage, `${JSON.stringify(file)} cannot be opened: ${why}`)
  }
}

function sourceOf(handle: FileHandle, sizeBytes: number | null): Source {
  return {
    sizeBytes,
    repeatable: true,
    read: () => handle.createReadStream({ start: 0, autoClose: false }),
    close: () => handle.close(),
  }
}

/**
 * Copies what can be read once into a file that can be read twice. Its name is taken away at once, so nothing is left behind however this
 * process ends.
 * @throws CommandFailed past 8 GiB.
 */
export async function spool(source: Source): Promise<Source> {
  const path = join(tmpdir(), `ledgerctl-${randomBytes(8).toString('hex')}`)
  const handle = await open(path, 'wx+', 0o600)
  try {
    await unlink(path)
    let sizeBytes = 0
    for await (const chunk of source.read()) {
      sizeBytes += chunk.byteLength
      if (sizeBytes > SPOOL_BYTES_MAX)
        throw new CommandFailed(EXIT.usage, `more than ${SPOOL_BYTES_MAX} bytes on standard input; put them into a file and name it`)
      await handle.writeFile(chunk)
    }
    return sourceOf(handle, sizeBytes)
  } catch (error) {
    await handle.close()
    throw error
  }
}
