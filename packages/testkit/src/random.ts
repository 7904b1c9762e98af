/** A random number in [0, 1). */
export type Random = () => number

/** mulberry32: small, fast and repeatable for a seed. For test data, never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A UUIDv7 (RFC 9562 section 5.7) of the given time. */
export function uuidv7(timeMs: number, random: Random): string {
  const time = timeMs.toString(16).padStart(12, '0')
  const digits = Array.from({ length: 18 }, () => Math.floor(random() * 16).toString(16)).join('')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6)}`
}
