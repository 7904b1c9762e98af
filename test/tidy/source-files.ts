import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** Every file of the repository whose path passes, as git sees the working tree. */
export function sourceFiles(wanted: (path: string) => boolean): SourceFile[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return listed
    .split('\0')
    .filter((path) => path !== '' && wanted(path))
    .flatMap((path) => {
      try {
        return [{ path, text: readFileSync(path, 'utf8') }]
      } catch {
        // Deleted in the working tree and still in the index.
        return []
      }
    })
}
