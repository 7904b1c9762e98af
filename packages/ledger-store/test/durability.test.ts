import { describe, expect, it } from 'vitest'
import { checkDurability } from '../src/durability.ts'
import { StoreMisconfigured } from '../src/errors.ts'
import type { Row, ShardDatabase } from '../src/session.ts'

function serverWith(settings: Row): ShardDatabase {
  return { withSession: (work) => work({ run: async () => [[settings]] }), close: async () => undefined }
}

describe('durability', () => {
  it.each([[['1', '1', 'ON']], [[1, 1, 1]]])('[ADJ-1] accepts a server that keeps what it acknowledges: %j', async (settings) => {
    await expect(checkDurability(serverWith(settings))).resolves.toBeUndefined()
  })

  it.each([
    [['2', '1', 'ON'], /innodb_flush_log_at_trx_commit is 2/],
    [['0', '1', 'ON'], /innodb_flush_log_at_trx_commit is 0/],
    [['1', '0', 'ON'], /sync_binlog is 0/],
    [['1', '1000', 'ON'], /sync_binlog is 1000/],
    [['1', '1', 'OFF'], /innodb_doublewrite is OFF/],
    [['1', '1', 'DETECT_ONLY'], /innodb_doublewrite is DETECT_ONLY/],
    [['2', '0', 'OFF'], /trx_commit is 2.*sync_binlog is 0.*doublewrite is OFF/],
  ])('[ADJ-1] refuses %j and says which setting', async (settings, message) => {
    const checked = checkDurability(serverWith(settings))
    await expect(checked).rejects.toThrow(StoreMisconfigured)
    await expect(checked).rejects.toThrow(message)
  })
})
