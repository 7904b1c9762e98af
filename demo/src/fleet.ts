import { type ShardProcess, startShardProcess, type TestLedger } from '@onceledger/testkit'

/** The shard processes of the demo: one for each shard, and one more for shard 0, which share its partitions. */
export interface Fleet {
  /** SIGKILL to one process of shard 0, and a new one in its place. */
  killOne(): Promise<void>
  /** SIGTERM to all, and waits for their end. */
  stop(): Promise<void>
}

/** So that the partitions of the killed process are soon taken over; the broker's own lower limit. */
const SESSION_TIMEOUT_MS = '6000'

export async function startFleet(ledger: TestLedger, shards: number): Promise<Fleet> {
  const start = (shard: number): Promise<ShardProcess> =>
    startShardProcess({ shard, env: { ...ledger.env(), ONCELEDGER_LOG_LEVEL: 'info', ONCELEDGER_SESSION_TIMEOUT_MS: SESSION_TIMEOUT_MS } })
  const processes = await Promise.all([...Array.from({ length: shards }, (_, shard) => start(shard)), start(0)])
  return {
    async killOne() {
      const [victim] = processes
      victim?.kill('SIGKILL')
      await victim?.exited
      processes[0] = await start(0)
    },
    async stop() {
      await Promise.all(processes.map((each) => each.stop()))
    },
  }
}
