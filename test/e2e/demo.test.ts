import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'onceledger-e2e-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface DemoRun {
  readonly code: number
  readonly json: Record<string, unknown>
  readonly stderr: string
}

function runDemo(...args: readonly string[]): Promise<DemoRun> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['demo/src/main.ts', '--json', ...args],
      { timeout: 300_000, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : -1
        try {
          resolve({ code, json: JSON.parse(stdout) as Record<string, unknown>, stderr })
        } catch (cause) {
          reject(new Error(`the demo printed no JSON (exit ${code}):\n${stdout}\n${stderr.slice(-4_000)}`, { cause }))
        }
      },
    )
  })
}

describe('the demo', () => {
  it.each([[[]], [['--shuffle', '1000', '--seed', '7']]])(
    "[ADJ-1] [ADJ-6] [ADJ-8] [ORD-2] [LAB-2] ends at the bank's balances, posting by posting, every effect once, with a process killed on the way %j",
    async (args) => {
      const { code, json } = await runDemo('--accounts', '60', ...args)
      expect(json).toMatchObject({
        balance_mismatches: 0,
        posting_mismatches: 0,
        deferred_remaining: 0,
        gaps: 0,
        balances_sum: '0',
        lag: 0,
        kills: 1,
        accounts: 60,
        conflict: 0,
        rejected: 0,
        parked: 0,
      })
      expect(json['applied']).toBe(Number(json['events_submitted']) / 2)
      expect(json['duplicate']).toBe(json['applied'])
      expect(json['results_published']).toBe(json['events_submitted'])
      expect(json['out_of_order']).toBeGreaterThan(0)
      expect(code).toBe(0)
    },
  )

  it('fails when the bank says otherwise by one heller', async () => {
    const rows = gunzipSync(readFileSync('test/data/berka/transactions.ndjson.gz')).toString('utf8').trim().split('\n').slice(0, 400)
    const last = JSON.parse(rows.at(-1) ?? '{}') as { balance_after_minor: string; account_version: number }
    rows[rows.length - 1] = JSON.stringify({
      ...last,
      account_version: 1_000_000,
      balance_after_minor: String(BigInt(last.balance_after_minor) + 1n),
    })
    const file = join(folder, 'tampered.ndjson')
    writeFileSync(file, rows.join('\n'))
    const { code, json } = await runDemo('--data', file)
    expect(json).toMatchObject({ balance_mismatches: 1, balances_sum: '0', lag: 0 })
    expect(code).toBe(1)
  })
})
