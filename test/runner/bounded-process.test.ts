import { describe, it } from 'vitest'
import { type BoundedRun, runBounded } from './bounded-process.ts'

const HANGS = `setInterval(() => {}, 1000)`
const HANGS_DEAF = `process.on('SIGTERM', () => {}); ${HANGS}`

function node(program: string, more: Partial<BoundedRun> = {}) {
  return runBounded({ program: 'node', args: ['-e', program], timeoutMs: 20_000, output: 'collect', ...more })
}

/** Long enough for Node to start and install its handlers on a busy machine. */
const START_MS = 2_000

/** Starts a grandchild that would run for ever, prints its pid, and goes on. */
function leaving(program: string, then: string): string {
  return `
    const { spawn } = require('node:child_process')
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(program)}], { stdio: ['ignore', 'inherit', 'inherit'] })
    child.on('spawn', () => { process.stdout.write(String(child.pid), () => { ${then} }) })`
}

describe.concurrent('a bounded process', () => {
  it('gives its code and both its outputs', async ({ expect }) => {
    const run = await node(`console.log('out'); console.error('err'); process.exitCode = 3`)
    expect(run).toMatchObject({ code: 3, timedOut: false })
    expect(run.output.split('\n').toSorted()).toEqual(['', 'err', 'out'])
  })

  it('has failed when it cannot start', async ({ expect }) => {
    expect(await runBounded({ program: 'no-such-program', args: [], timeoutMs: 1_000, output: 'collect' })).toMatchObject({ code: 127 })
  })

  it('has failed when a signal ended it', async ({ expect }) => {
    expect(await node(`process.kill(process.pid, 'SIGKILL')`)).toMatchObject({ code: 137, timedOut: false })
  })

  it('ends past its time, even if it is deaf to SIGTERM, and has failed', async ({ expect }) => {
    expect(await node(HANGS_DEAF, { timeoutMs: START_MS, killGraceMs: 100 })).toMatchObject({ code: 137, timedOut: true })
  })

  it('has failed past its time, even if it then ends well', async ({ expect }) => {
    expect(await node(`process.on('SIGTERM', () => process.exit(0)); ${HANGS}`, { timeoutMs: START_MS })).toMatchObject({
      code: 1,
      timedOut: true,
    })
  })

  // The grandchild holds the pipe of the output, whose end is waited for: an answer at all proves that it is gone.
  it.for([
    ['ends by itself', 'process.exit(0)', 20_000, { code: 0, timedOut: false }],
    ['runs out of time', HANGS, START_MS, { timedOut: true }],
  ] as const)('takes what it started with it when it %s', async ([_what, then, timeoutMs, expected], { expect }) => {
    const run = await node(leaving(HANGS_DEAF, then), { timeoutMs, killGraceMs: 100 })
    expect(run).toMatchObject(expected)
    expect(Number.parseInt(run.output, 10)).toBeGreaterThan(1)
  })
})
