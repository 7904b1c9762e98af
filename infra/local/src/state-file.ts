import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { StackError, systemCodeOf } from './errors.ts'

const port = z.int().min(1024).max(65_535)

const StateSchema = z.object({
  version: z.literal(1),
  ports: z.object({
    'mysql-0': port,
    'mysql-1': port,
    kafka: port,
    kafkaController: port,
    s3: port,
  }),
})

/** What a stack keeps between runs: the ports that its clients know. */
export type StackState = z.infer<typeof StateSchema>
export type PortName = keyof StackState['ports']

export function stateFilePath(stackDir: string): string {
  return join(stackDir, 'state.json')
}

/**
 * The state of a stack, or undefined when it was never started.
 *
 * @throws StackError BAD_STATE when the file is not one of ours.
 */
export function readState(stackDir: string): StackState | undefined {
  const path = stateFilePath(stackDir)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') {
      return undefined
    }
    throw error
  }
  return parseState(text, path)
}

export function parseState(text: string, path: string): StackState {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new StackError('BAD_STATE', `${path} is not JSON. Delete it and start again.`, {
        cause: error,
      })
    }
    throw error
  }
  const parsed = StateSchema.safeParse(value)
  if (!parsed.success) {
    throw new StackError('BAD_STATE', `${path} does not describe a stack. Delete it and start again.`, {
      cause: parsed.error,
    })
  }
  return parsed.data
}

/** Replaces the file in one step, so a reader never sees half of it. */
export function writeState(stackDir: string, state: StackState): void {
  mkdirSync(stackDir, { recursive: true })
  const path = stateFilePath(stackDir)
  const next = `${path}.${process.pid}`
  writeFileSync(next, `${JSON.stringify(state, null, 2)}\n`)
  renameSync(next, path)
}
