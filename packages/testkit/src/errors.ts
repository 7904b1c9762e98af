/** A process or a server under test did not do what the test needs to go on. Carries what it said last. */
export class TestkitError extends Error {
  override readonly name = 'TestkitError'
}
