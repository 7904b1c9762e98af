import type { RefusedLine } from '../input/commands.ts'
import type { Output } from '../output.ts'

const SHOWN_MAX = 20

/** Tells the first refused lines as they are found, and counts them all. */
export class RefusedLines {
  readonly first: RefusedLine[] = []
  readonly #output: Output
  #count = 0

  constructor(output: Output) {
    this.#output = output
  }

  get count(): number {
    return this.#count
  }

  add(refused: RefusedLine): void {
    this.#count++
    if (this.first.length < SHOWN_MAX) {
      this.first.push(refused)
      this.#output.note(`line ${refused.line}: ${refused.reason}: ${refused.detail}`)
    } else if (this.#count === SHOWN_MAX + 1) {
      this.#output.note(`further lines are refused; only the first ${SHOWN_MAX} are shown`)
    }
  }
}
