export {
  createLogAdmin,
  type LogAdmin,
  type LogAdminOptions,
  type TopicDescription,
  type TopicSpec,
} from './admin.ts'
export type { HandleOutcome, PartitionBatch } from './batch.ts'
export type { ChainBreakCode, LogBounds, StartPosition } from './chain.ts'
export { type CommandConsumer, createCommandConsumer } from './consumer.ts'
export type { ConsumerLimits, ConsumerOptions } from './consumer-options.ts'
export { CommandLogError, type CommandLogErrorCode } from './errors.ts'
export type { LogConnection } from './kafka-client.ts'
export type { LanePhase, PartitionState, PartitionStateName } from './lane.ts'
export type { BatchResult, CommandLogLogger, CommandLogMetrics, LogFields } from './observer.ts'
export type { PartitionStats } from './partition-desk.ts'
export {
  type AppendedRange,
  type CommandProducer,
  createCommandProducer,
  type HeaderValue,
  type OutgoingRecord,
  type ProducerOptions,
} from './producer.ts'
export { openTopicReader, type TopicMessage, type TopicReader, type TopicReaderOptions } from './topic-reader.ts'
export { createResultProducer, type PlacedRecord, type ResultProducer, type ResultProducerOptions } from './result-producer.ts'
export type { Timers } from './timers.ts'
