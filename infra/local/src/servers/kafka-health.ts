import { connect } from 'node:net'

const TIMEOUT_MS = 3_000
const METADATA_KEY = 3
const METADATA_VERSION = 1
const CORRELATION_ID = 1
const CLIENT_ID = 'onceledger-stack'

/**
 * Whether the broker at `host:port` answers a Metadata request and names a live broker: undefined
 * when it does, else what is wrong.
 *
 * Written by hand (https://kafka.apache.org/protocol#The_Messages_Metadata, version 1), because a
 * whole client would be loaded for one request of 40 bytes.
 */
export async function findKafkaProblem(broker: string): Promise<string | undefined> {
  const answer = await exchange(broker, metadataRequest())
  if (answer === undefined) {
    return `no answer from ${broker}`
  }
  return brokerCountOf(answer) > 0 ? undefined : `${broker} answers, but knows of no live broker`
}

/** A Metadata request that asks for no topic at all. */
export function metadataRequest(): Buffer {
  const clientId = Buffer.from(CLIENT_ID, 'utf8')
  const body = Buffer.alloc(2 + 2 + 4 + 2 + clientId.length + 4)
  let at = body.writeInt16BE(METADATA_KEY, 0)
  at = body.writeInt16BE(METADATA_VERSION, at)
  at = body.writeInt32BE(CORRELATION_ID, at)
  at = body.writeInt16BE(clientId.length, at)
  at += clientId.copy(body, at)
  body.writeInt32BE(0, at)
  const size = Buffer.alloc(4)
  size.writeInt32BE(body.length, 0)
  return Buffer.concat([size, body])
}

/** The number of brokers in a response: int32 correlation id, then the length of the broker array. */
export function brokerCountOf(response: Buffer): number {
  return response.length >= 8 && response.readInt32BE(0) === CORRELATION_ID ? response.readInt32BE(4) : 0
}

/** Sends one request and returns the response behind its size, or undefined when there is none. */
function exchange(broker: string, request: Buffer): Promise<Buffer | undefined> {
  const separator = broker.lastIndexOf(':')
  const host = broker.slice(0, separator)
  const port = Number(broker.slice(separator + 1))
  return new Promise((resolve) => {
    let received = Buffer.alloc(0)
    const socket = connect({ host, port, timeout: TIMEOUT_MS })
    const finish = (answer: Buffer | undefined) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => socket.write(request))
    socket.once('timeout', () => finish(undefined))
    socket.once('error', () => finish(undefined))
    socket.once('close', () => finish(undefined))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
        finish(received.subarray(4))
      }
    })
  })
}
