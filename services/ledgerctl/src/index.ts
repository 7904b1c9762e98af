export { EXIT } from './exit.ts'
export { createProgram, type ProgramOptions } from './program.ts'
