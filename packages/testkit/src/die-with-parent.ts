/**
 * Loaded before a process under test (`node --import`): its standard input is a pipe from the test, so the end of the input is the end
 * of the test, even by SIGKILL, and nothing is left running.
 */
process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL'))
process.stdin.resume()
process.stdin.unref()
