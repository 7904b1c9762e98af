import type { CommandControl } from '../run-command.ts'
import type { ServiceName } from '../service-names.ts'
import type { LaunchCommand } from '../server-process.ts'

/** One server of the stack: how to make its data, start it, and ask it whether it works. */
export interface Server {
  readonly service: ServiceName
  readonly command: LaunchCommand
  /** How long a clean stop may take before SIGKILL. */
  readonly stopGraceMs: number
  /** Creates the data folder when there is none yet, and writes the configuration. */
  readonly prepare: (control: CommandControl) => Promise<void>
  /** Makes one real request: undefined when it was answered well, else what is wrong in plain words. */
  readonly findProblem: () => Promise<string | undefined>
}
