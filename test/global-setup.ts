import { type Stack, startStack } from '@onceledger/local-stack'

let stack: Stack | null = null

/**
 * Starts the servers of a test run once, or uses those that the environment names. They end with this process, however it ends. The
 * workers find them by the same variables that any process of the product reads.
 */
export async function setup(): Promise<void> {
  if (stack !== null) return
  stack = await startStack({ name: 'test', attached: true, onProgress: (line) => process.stderr.write(`${line}\n`) })
  for (const [name, value] of Object.entries(stack.env())) process.env[name] = value
}

export async function teardown(): Promise<void> {
  await stack?.stop({ wipe: true })
  stack = null
}
