// Runs one command of this repository with its own Node 24, on a machine that promises only
// Node 20, npm, Java 17, Go and apt. Plain JavaScript without dependencies: it runs before any
// of them is installed.
//
//   node infra/bootstrap/run.mjs demo [args]         demo/src/main.ts
//   node infra/bootstrap/run.mjs test [args]         test/run.ts
//   node infra/bootstrap/run.mjs SCRIPT [args]       `pnpm run SCRIPT`
//
// What it has to say itself goes to stderr: stdout belongs to the program that it runs.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findMissing } from './requirements.mjs'

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const BIN = join(ROOT, 'node_modules', '.bin')
const PNPM = 'pnpm@12'
const ENTRY_POINTS = { demo: 'demo/src/main.ts', test: 'test/run.ts' }
// The Kafka client now and then asks for a timer in the past; Node says so, and nobody can do anything about it.
const NO_TIMER_NOISE = '--disable-warning=TimeoutNegativeWarning'
const USAGE = 'usage: node infra/bootstrap/run.mjs demo|test|SCRIPT [args]\n'
const USAGE_EXIT_CODE = 2

const say = (line) => process.stderr.write(`onceledger: ${line}\n`)

/** PATH with this repository's programs first, so that `node` is Node 24 for every child. */
function childEnvironment() {
  return { ...process.env, PATH: [BIN, process.env.PATH ?? ''].join(delimiter) }
}

/**
 * Runs a program with our standard streams, hands on the signals that we get, and resolves with its
 * exit code (128 + n when signal n ended it, as a shell has it).
 */
function run(file, args, stdio) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: ROOT, env: childEnvironment(), stdio })
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    // Ctrl-C at a terminal reaches the child by itself, and it should not hear of it twice.
    const isToldByTerminal = (signal) => signal === 'SIGINT' && process.stdin.isTTY === true
    const handlers = signals.map((signal) => [signal, () => isToldByTerminal(signal) || child.kill(signal)])
    for (const [signal, handler] of handlers) {
      process.on(signal, handler)
    }
    child.once('error', reject)
    child.once('close', (code, signal) => {
      for (const [name, handler] of handlers) {
        process.off(name, handler)
      }
      resolve(code ?? 128 + constants.signals[signal])
    })
  })
}

/** Whether node_modules holds what pnpm-lock.yaml asks for: pnpm keeps a copy of what it installed. */
function isInstalled() {
  const installed = join(ROOT, 'node_modules', '.pnpm', 'lock.yaml')
  return (
    existsSync(join(BIN, 'node')) && existsSync(installed) && readFileSync(installed).equals(readFileSync(join(ROOT, 'pnpm-lock.yaml')))
  )
}

async function install() {
  if (isInstalled()) {
    return 0
  }
  say('installing the packages of pnpm-lock.yaml')
  // Without a terminal npx and pnpm would ask, or refuse to go on; stdout is not theirs.
  const args = ['-y', PNPM, 'install', '--frozen-lockfile', '--config.confirmModulesPurge=false']
  return run('npx', args, ['ignore', process.stderr, process.stderr])
}

function commandOf(name, args) {
  const entry = ENTRY_POINTS[name]
  if (entry !== undefined) {
    return { file: join(BIN, 'node'), args: [NO_TIMER_NOISE, entry, ...args] }
  }
  return { file: 'npx', args: ['-y', PNPM, '--silent', 'run', name, ...args] }
}

async function main([name, ...args]) {
  if (name === undefined || name.startsWith('-')) {
    process.stderr.write(USAGE)
    return USAGE_EXIT_CODE
  }
  const missing = findMissing(process.env)
  if (missing.length > 0) {
    say('something is missing on this machine:')
    for (const line of missing) {
      say(`  ${line}`)
    }
    return 1
  }
  const installed = await install()
  if (installed !== 0) {
    say('the packages could not be installed; see above')
    return installed
  }
  const command = commandOf(name, args)
  return run(command.file, command.args, 'inherit')
}

process.exitCode = await main(process.argv.slice(2))
