export const MS_PER_DAY = 86_400_000

/** Days since 1970-01-01 UTC of a time in milliseconds. */
export function dayOfMs(timeMs: number): number {
  return Math.floor(timeMs / MS_PER_DAY)
}

/** `YYYY-MM-DD` of a day number. */
export function dayToIso(day: number): string {
  return new Date(day * MS_PER_DAY).toISOString().slice(0, 10)
}
