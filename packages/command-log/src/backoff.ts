const FIRST_DELAY_MS = 100
const DELAY_MAX_MS = 30_000

/**
 * Exponential, capped, with jitter over the upper half, so that shards that failed together do not come back together.
 * @param failures how often in a row, from 1.
 * @param random a number in [0, 1).
 * @returns the delay in ms.
 */
export function backoffMs(failures: number, random: () => number): number {
  const full = Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 20))
  return Math.round(full / 2 + (full / 2) * random())
}
