import { Kafka, type LogEntry, logLevel } from 'kafkajs'
import type { CommandLogLogger } from './observer.ts'

/** How to reach the brokers. */
export interface LogConnection {
  /** host:port of one broker or more, to begin with. */
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly connectTimeoutMs?: number
  readonly requestTimeoutMs?: number
}

/**
 * About 17 s of attempts before a request gives up: longer than the restart of a broker usually takes. Given explicitly everywhere,
 * because kafkajs takes other defaults when NODE_ENV is "test".
 */
export const RETRY = { initialRetryTime: 100, maxRetryTime: 2000, factor: 0.2, multiplier: 2, retries: 12 }

export function createKafka(connection: LogConnection, logger: CommandLogLogger): Kafka {
  return new Kafka({
    brokers: [...connection.brokers],
    clientId: connection.clientId,
    connectionTimeout: connection.connectTimeoutMs ?? 5000,
    requestTimeout: connection.requestTimeoutMs ?? 30_000,
    retry: RETRY,
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => writeEntry(logger, entry),
  })
}

/** One level lower than kafkajs says: it retries what it calls an error, and what it cannot cure reaches our callers as an exception. */
function writeEntry(logger: CommandLogLogger, { level, namespace, log }: LogEntry): void {
  const { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...fields } = log
  const text = `kafka ${namespace}: ${message}`
  if (level === logLevel.ERROR) logger.warn(text, fields)
  else logger.debug(text, fields)
}
