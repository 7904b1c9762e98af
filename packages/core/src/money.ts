/** Largest value of a signed 64-bit column; amounts, balances and limits stay within it in both directions (IDN-5). */
export const MINOR_UNITS_MAX = 2n ** 63n - 1n

/** Whether a signed sum still fits its column. Checked in code before SQL sees it. */
export function fitsMinorUnits(value: bigint): boolean {
  return value <= MINOR_UNITS_MAX && value >= -MINOR_UNITS_MAX
}
