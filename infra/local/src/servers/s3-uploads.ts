import { globSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * A gateway that was killed while it completed a multipart upload leaves the upload's folder named
 * `<upload id>.<etag>.inprogress`, and the upload can then be neither completed nor aborted. Gives
 * each its name back. Call it while the gateway is down.
 */
export function mendInterruptedUploads(dataDir: string): void {
  for (const found of globSync('*/.sgwtmp/multipart/*/*.inprogress', { cwd: dataDir })) {
    const uploadId = basename(found).split('.')[0]
    if (uploadId !== undefined && uploadId !== '') {
      renameSync(join(dataDir, found), join(dataDir, dirname(found), uploadId))
    }
  }
}
