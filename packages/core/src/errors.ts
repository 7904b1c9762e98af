/** The command as it came cannot be a command of any contract. Its code is stored as the reason when the message is parked. */
export class InvalidCommand extends Error {
  override readonly name = 'InvalidCommand'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** A stored row contradicts what it must be. Never resolved by guessing: the command that met it is parked with its bytes. */
export class CorruptData extends Error {
  override readonly name = 'CorruptData'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The program broke its own rules. Nothing may be committed after it. */
export class Bug extends Error {
  override readonly name = 'Bug'
}
