export { readConfig, type ShardConfig } from './config.ts'
export { type RunningShard, startShard } from './start.ts'
