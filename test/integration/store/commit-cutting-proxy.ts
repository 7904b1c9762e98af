import { connect, createServer, type Socket } from 'node:net'

/**
 * What happens to the packet that carries COMMIT. `answer-lost`: the server commits and answers, the answer is dropped. `still-running`:
 * the client is cut off at once, while the server is still at work. `never-sent`: the server does not get it.
 */
export type CommitFate = 'answer-lost' | 'still-running' | 'never-sent'

export interface CuttingProxy {
  readonly port: number
  /** How many packets with a COMMIT met their fate so far. */
  readonly cuts: () => number
  close(): Promise<void>
}

const HEADER_BYTES = 4
/** As the last statement of several; the session's isolation level has the word in its name. */
const COMMIT = ';COMMIT'

/** A TCP proxy in front of a MySQL server that cuts the first `cutsMax` COMMIT packets and forwards everything else. */
export async function startCuttingProxy(server: URL, fate: CommitFate, cutsMax: number): Promise<CuttingProxy> {
  const [host, port] = [server.hostname, Number(server.port)]
  const sockets = new Set<Socket>()
  let cuts = 0
  const proxy = createServer((client) => {
    const upstream = connect(port, host)
    sockets.add(client).add(upstream)
    let pending = Buffer.alloc(0)
    let cutting = false
    client.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk])
      for (let size = packetBytes(pending); size <= pending.length && !cutting; size = packetBytes(pending)) {
        const packet = pending.subarray(0, size)
        pending = pending.subarray(size)
        if (cuts >= cutsMax || !packet.includes(COMMIT)) {
          upstream.write(packet)
          continue
        }
        cuts++
        cutting = true
        if (fate === 'never-sent') upstream.destroy()
        else upstream.write(packet)
        if (fate !== 'answer-lost') client.destroy()
      }
    })
    upstream.on('data', (chunk: Buffer) => {
      if (!cutting) client.write(chunk)
      else client.destroy()
    })
    // The server must finish what it has begun, so its side is closed only when it has answered or the proxy ends.
    client.on('close', () => (cutting && fate === 'still-running' ? upstream.once('data', () => upstream.end()) : upstream.destroy()))
    upstream.on('close', () => client.destroy())
    client.on('error', () => client.destroy())
    upstream.on('error', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    port: address.port,
    cuts: () => cuts,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

/** Size of the first packet of the MySQL protocol, with its header; endless while the header is not complete. */
function packetBytes(bytes: Buffer): number {
  return bytes.length < HEADER_BYTES ? Number.POSITIVE_INFINITY : HEADER_BYTES + bytes.readUIntLE(0, 3)
}
