import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createCommandProducer, type OutgoingRecord } from '@onceledger/command-log'
import { type Command, decodeRecord, routingKey } from '@onceledger/core'
import { SingleBar } from 'cli-progress'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import type { Output } from '../output.ts'

export interface SubmitOptions {
  /** A path, or `-` for standard input. */
  readonly file: string
  /** Send the good lines although others are refused. */
  readonly keepGoing: boolean
  readonly progress: boolean
}

interface RefusedLine {
  readonly line: number
  readonly reason: string
  readonly detail: string
}

const CHUNK = 1_000
const LINES_MAX = 5_000_000
const REFUSED_SHOWN_MAX = 20
const HEADERS = { 'content-type': 'application/cloudevents+json' }

/** Reads all lines before it sends any: a file with a bad line is refused whole, unless it is told to keep going. */
export async function submitCommand(ledger: Ledger, output: Output, options: SubmitOptions): Promise<void> {
  const { topic } = await ledger.foundation()
  const { records, refused } = await readCommands(ledger, options.file)
  for (const { line, reason, detail } of refused.slice(0, REFUSED_SHOWN_MAX)) output.note(`line ${line}: ${reason}: ${detail}`)
  if (refused.length > 0 && !options.keepGoing)
    throw new CommandFailed(EXIT.refused, `${refused.length} lines refused, nothing sent; mend them, or send the others with --keep-going`)

  const producer = createCommandProducer({ brokers: ledger.config.kafkaBrokers, clientId: 'ledgerctl' })
  const bar = options.progress ? new SingleBar({ stream: process.stderr, format: 'sending {bar} {value}/{total} {eta_formatted}' }) : null
  bar?.start(records.length, 0)
  try {
    for (let sent = 0; sent < records.length; sent += CHUNK) {
      await producer.send(topic, records.slice(sent, sent + CHUNK))
      bar?.update(Math.min(sent + CHUNK, records.length))
    }
  } finally {
    bar?.stop()
    await producer.close()
  }
  output.result({ submitted: records.length, refused: refused.length, topic }, () => [
    `${records.length} commands sent to ${topic}${refused.length > 0 ? `, ${refused.length} refused` : ''}`,
  ])
}

async function readCommands(ledger: Ledger, file: string): Promise<{ records: OutgoingRecord[]; refused: RefusedLine[] }> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  const records: OutgoingRecord[] = []
  const refused: RefusedLine[] = []
  let line = 0
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      line++
      if (text.trim() === '') continue
      if (line > LINES_MAX) throw new CommandFailed(EXIT.refused, `more than ${LINES_MAX} lines; split the file`)
      const command = checkLine(ledger, text)
      if ('reason' in command) refused.push({ line, ...command })
      else records.push({ key: routingKey(command.tenantId, command.businessKey), value: text, headers: HEADERS })
    }
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error
    throw new CommandFailed(EXIT.refused, `there is no file ${file}`)
  }
  return { records, refused }
}

/** The same decoder that the shard uses, told that the message stands where its key belongs. */
function checkLine(ledger: Ledger, text: string): Command | Omit<RefusedLine, 'line'> {
  const decoded = decodeRecord(
    {
      position: { topic: '', partition: 0, offset: 0n },
      key: null,
      value: Buffer.from(text, 'utf8'),
      headers: [['content-type', Buffer.from(HEADERS['content-type'])]],
      timestampMs: 0n,
    },
    { registry: ledger.registry, bucketOf: () => 0 },
  )
  return decoded.kind === 'command' ? decoded.command : { reason: decoded.parked.reason, detail: decoded.parked.detail }
}
