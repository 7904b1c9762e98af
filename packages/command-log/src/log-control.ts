import type { LogBounds } from './chain.ts'

/** What the partition lanes need from the client underneath. The consumer gives it; unit tests give a fake. */
export interface LogControl {
  pause(partitions: readonly number[]): void
  resume(partitions: readonly number[]): void
  seek(partition: number, offset: bigint): void
  /** The bounds of a partition as they are after the call was made, never older. */
  bounds(partition: number): Promise<LogBounds>
  /** What Kafka remembers for the group, or null. */
  groupOffset(partition: number): Promise<bigint | null>
}
