import { type AccountPoint, PARKED_STATES, type ParkedState } from '@onceledger/ledger-store'
import { InvalidArgumentError } from 'commander'
import { z } from 'zod'

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

/** Collects ids of one or more arguments. */
export function ids(text: string, before: bigint[] | undefined): bigint[] {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new InvalidArgumentError('an id is a whole number from 1 on')
  return [...(before ?? []), BigInt(text)]
}

export function parkedState(text: string): ParkedState | 'all' {
  const state = [...PARKED_STATES, 'all' as const].find((each) => each === text)
  if (state === undefined) throw new InvalidArgumentError(`must be one of ${PARKED_STATES.join(', ')}, all`)
  return state
}

/** A version of an account, or a time of RFC 3339. */
export function accountPoint(text: string): AccountPoint {
  return /^\d+$/.test(text) ? { version: offset(text) } : { timeUs: timeUs(text) }
}

/** RFC 3339 with its zone, so that no local time is guessed. @returns microseconds since 1970. */
export function timeUs(text: string): bigint {
  const time = z.iso.datetime({ offset: true }).safeParse(text)
  if (!time.success) throw new InvalidArgumentError('must be a time of RFC 3339 with its zone, such as 2026-12-01T10:00:00Z')
  // A Date would drop the microseconds, and with them the row whose time was asked for.
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? ''
  const seconds = Date.parse(text.replace(/\.\d+/, ''))
  return BigInt(seconds) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'))
}
