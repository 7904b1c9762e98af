/** Whether dotted version `actual` is `minimum` or later, compared number by number. */
export function isAtLeast(actual: string, minimum: string): boolean {
  const left = actual.split('.').map(Number)
  const right = minimum.split('.').map(Number)
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0)
    if (difference !== 0) {
      return difference > 0
    }
  }
  return true
}
