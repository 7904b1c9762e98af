import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, realpathSync, unlinkSync, writeFileSync } from 'node:fs'

/**
 * `pnpm image SERVICE FOLDER`: a folder that runs anywhere with `node dist/main.js`, for a container image. Run `pnpm build` first. pnpm applies
 * `publishConfig` when it publishes and not when it deploys, so that is done here.
 */
const [service, folder] = process.argv.slice(2)
if (service === undefined || folder === undefined) {
  process.stderr.write('usage: pnpm image SERVICE FOLDER, for instance: pnpm image shard ./out\n')
  process.exit(2)
}
const args = ['-y', 'pnpm@12', '--filter', `@onceledger/${service}`, 'deploy', '--prod', '--legacy', folder]
execFileSync('npx', args, { stdio: ['ignore', 'inherit', 'inherit'] })
for (const name of readdirSync(`${folder}/node_modules/@onceledger`)) {
  const manifest = realpathSync(`${folder}/node_modules/@onceledger/${name}/package.json`)
  const { publishConfig, ...rest } = JSON.parse(readFileSync(manifest, 'utf8')) as { publishConfig: object }
  // pnpm deploys workspace files as hard links: written in place, the change would reach the workspace's own manifest.
  unlinkSync(manifest)
  writeFileSync(manifest, `${JSON.stringify({ ...rest, ...publishConfig }, null, 2)}\n`)
}
process.stderr.write(`${folder} is ready: node ${folder}/dist/main.js\n`)
