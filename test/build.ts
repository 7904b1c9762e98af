import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'

/**
 * `pnpm build`: JavaScript and declarations of every package and service in its own `dist/`, which is what `publishConfig` points to. In
 * development nothing is built: Node runs the sources. Node refuses to strip types inside node_modules, so what is deployed must be built.
 */
const OUTPUT = 'build'

rmSync(OUTPUT, { recursive: true, force: true })
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json'], { stdio: ['ignore', 'inherit', 'inherit'] })
for (const group of ['packages', 'services']) {
  for (const name of readdirSync(group)) {
    const built = `${OUTPUT}/${group}/${name}/src`
    if (!existsSync(built)) continue
    rmSync(`${group}/${name}/dist`, { recursive: true, force: true })
    cpSync(built, `${group}/${name}/dist`, { recursive: true })
    process.stderr.write(`built ${group}/${name}/dist\n`)
  }
}
rmSync(OUTPUT, { recursive: true, force: true })
