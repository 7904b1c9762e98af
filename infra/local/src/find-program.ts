import { statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The full path of an executable on PATH (or in one of `alsoIn`), if there is one. */
export function findProgram(
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
  alsoIn: readonly string[] = [],
): string | undefined {
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders, ...alsoIn].map((folder) => join(folder, name)).find(isExecutable)
}

export function isExecutable(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.isFile() && (found.mode & 0o111) !== 0
}
