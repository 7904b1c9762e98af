export type LogFields = Readonly<Record<string, unknown>>

/** Where this package and the Kafka client beneath it write what happens. */
export interface CommandLogLogger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** How one call of the handler ended. */
export type BatchResult = 'done' | 'seek' | 'pause' | 'failed' | 'stale'

/** What the consumer counts. Every method returns at once and never throws. */
export interface CommandLogMetrics {
  recordsReceived(partition: number, records: number, sizeBytes: number): void
  batchHandled(partition: number, records: number, durationMs: number, result: BatchResult): void
  queueChanged(queuedRecords: number, queuedBytes: number): void
  groupCommitFailed(): void
}

export const SILENT_LOGGER: CommandLogLogger = { debug() {}, info() {}, warn() {}, error() {} }

export const SILENT_METRICS: CommandLogMetrics = {
  recordsReceived() {},
  batchHandled() {},
  queueChanged() {},
  groupCommitFailed() {},
}
