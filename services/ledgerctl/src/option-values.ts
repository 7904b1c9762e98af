import { InvalidArgumentError } from 'commander'

const LIST_MAX = 10_000
/** Buckets are stored as SMALLINT UNSIGNED. */
const BUCKETS_MAX = 65_536
/** Kafka's rule for topic names. */
const TOPIC = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/

export function count(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('must be a whole number')
  return Number(text)
}

function between(text: string, min: number, max: number): number {
  const value = count(text)
  if (value < min || value > max) throw new InvalidArgumentError(`must lie between ${min} and ${max}`)
  return value
}

export function listLength(text: string): number {
  return between(text, 1, LIST_MAX)
}

export function bucketCount(text: string): number {
  return between(text, 1, BUCKETS_MAX)
}

/** A position in a partition: Kafka's offsets are signed 64-bit integers. */
export function offset(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('must be a whole number')
  return BigInt(text)
}

/** Checked here because the topic is fixed before Kafka could refuse its name. */
export function topicName(text: string): string {
  if (!TOPIC.test(text)) throw new InvalidArgumentError('must be 1 to 249 of the characters A-Z a-z 0-9 . _ -')
  return text
}
