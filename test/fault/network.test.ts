import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { defaultControlUrl } from '@onceledger/ledger-store'
import { waitFor } from '@onceledger/runtime'
import { endpointsFromEnv, seededRandom, type ShardProcess, startShardProcess, type TestLedger } from '@onceledger/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createScenarioLedger, databaseOf, expectTruth, metricOf, send, stream, waitForApplied } from './support/scenario.ts'

/** Stands between a shard and MySQL, and loses the answers to some of the packets that contain a COMMIT: the server has done it, nobody learns of it. */
class AnswerThief {
  stolen = 0
  readonly #sockets = new Set<Socket>()
  readonly #server: Server
  readonly #everyNth: number
  #commits = 0

  constructor(targetPort: number, everyNth: number) {
    this.#everyNth = everyNth
    this.#server = createServer((client) => this.#join(client, createConnection(targetPort, '127.0.0.1')))
  }

  listen(): Promise<number> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #join(client: Socket, server: Socket): void {
    let deaf = false
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    client.on('data', (bytes: Buffer) => {
      // The statement packet ends in COMMIT; it may arrive in several pieces, the last of which decides.
      if (bytes.subarray(-8).includes('COMMIT') && ++this.#commits % this.#everyNth === 0) deaf = true
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (!deaf) return void client.write(bytes)
      if (client.destroyed) return
      this.stolen++
      client.destroy()
      server.end()
    })
    client.on('close', () => server.end())
    server.on('close', () => client.destroy())
  }
}

let ledger: TestLedger
let shard: ShardProcess | null = null
beforeEach(async () => {
  ledger = await createScenarioLedger(endpointsFromEnv(), 'network')
})
afterEach(async () => {
  shard?.kill('SIGKILL')
  await shard?.exited
  await ledger.close({ drop: true })
})

describe('between a shard and its database', () => {
  it('[ADJ-3] a lost commit answer is asked again under the same identity, and the effect stands once', async () => {
    const [url = ''] = ledger.mysqlUrls
    const thief = new AnswerThief(Number(new URL(url).port), 5)
    const port = await thief.listen()
    const throughThief = new URL(url)
    throughThief.port = String(port)
    const env = {
      ...ledger.env(),
      ONCELEDGER_MYSQL_URLS: throughThief.href,
      ONCELEDGER_CONTROL_URL: defaultControlUrl(url),
      ONCELEDGER_BATCH_RECORDS: '100',
    }
    shard = await startShardProcess({ shard: 0, env })
    const commands = stream(seededRandom(41), 5_000)
    await send(ledger, commands)
    await expectTruth(ledger, commands)
    expect(thief.stolen).toBeGreaterThan(3)
    // Each was noticed, and settled by judging again.
    expect(await metricOf(shard, 'onceledger_adjudication_retries_total')).toBeGreaterThanOrEqual(thief.stolen)
    thief.close()
  })

  it('[ADJ-4] another session that holds its accounts and locks in the other order delays it, and changes nothing', async () => {
    const database = databaseOf(ledger)
    shard = await startShardProcess({ shard: 0, env: { ...ledger.env(), ONCELEDGER_BATCH_RECORDS: '100' } })
    const commands = stream(seededRandom(42), 6_000)
    const sending = send(ledger, commands, 10)
    await waitForApplied(ledger, 500)
    let deadlocks = 0
    for (let round = 0; round < 25; round++) {
      try {
        await database.withSession(async (session) => {
          await session.run('START TRANSACTION; SELECT version FROM account ORDER BY aggregate_id DESC LIMIT 3 FOR UPDATE')
          await delay(30)
          await session.run('SELECT version FROM account ORDER BY aggregate_id LIMIT 30 FOR UPDATE')
          await session.run('ROLLBACK')
        })
      } catch (error) {
        if ((error as { errno?: number }).errno !== 1213) throw error
        deadlocks++
      }
    }
    await sending
    await expectTruth(ledger, commands)
    expect(deadlocks + (await metricOf(shard, 'onceledger_adjudication_retries_total', { code: '1213' }))).toBeGreaterThan(0)
  })

  it('[ADJ-4] another session that holds an account longer than a lock wait lasts delays its partition, and nothing is parked', async () => {
    const commands = stream(seededRandom(43), 3_000)
    const running = await startShardProcess({ shard: 0, env: { ...ledger.env(), ONCELEDGER_BATCH_RECORDS: '100' } })
    shard = running
    await send(ledger, commands.slice(0, 1_000))
    await expectTruth(ledger, commands.slice(0, 1_000))
    await databaseOf(ledger).withSession(async (session) => {
      await session.run(`START TRANSACTION; SELECT version FROM account WHERE business_key = 'account-1' FOR UPDATE`)
      await send(ledger, commands.slice(1_000))
      await waitFor(async () => (await metricOf(running, 'onceledger_adjudication_retries_total', { code: '1205' })) > 0, {
        timeoutMs: 30_000,
        what: 'a lock wait that times out',
      })
      await session.run('ROLLBACK')
    })
    await expectTruth(ledger, commands)
    expect((await running.readiness()).ok).toBe(true)
  })
})
