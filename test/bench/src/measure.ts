import { readFile } from 'node:fs/promises'

/** Clock ticks of /proc/PID/stat: 100 a second on Linux, whatever the kernel's own rate (man 5 proc, sysconf(_SC_CLK_TCK)). */
const TICKS_PER_SECOND = 100

/** User and system CPU seconds of a process so far, or null where /proc does not tell (another machine, another system). */
export async function cpuSecondsOf(pid: number | null): Promise<number | null> {
  if (pid === null) return null
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return null
    throw error
  }
}

/** Peak resident memory of a process in MiB (VmHWM), or null where /proc does not tell. */
export async function peakRssMib(pid: number): Promise<number | null> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    const match = /^VmHWM:\s+(\d+) kB$/m.exec(status)
    return match === null ? null : Number(match[1]) / 1024
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return null
    throw error
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = sorted.length >> 1
  const high = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2
}

/** One timed run of one variant. */
export interface Sample {
  readonly events: number
  readonly seconds: number
  readonly nodeCpuSeconds: number
  readonly mysqldCpuSeconds: number | null
  readonly peakRssMib?: number | null
}

export interface SampleOptions {
  readonly events: number
  readonly mysqldPid: number | null
}

/** Times work done in this process, with the CPU that it and the database server spent on it. */
export async function sample(options: SampleOptions, work: () => Promise<void>): Promise<Sample> {
  const cpuBefore = process.cpuUsage()
  const mysqldBefore = await cpuSecondsOf(options.mysqldPid)
  const startedMs = performance.now()
  await work()
  const seconds = (performance.now() - startedMs) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  const mysqldAfter = await cpuSecondsOf(options.mysqldPid)
  return {
    events: options.events,
    seconds,
    nodeCpuSeconds: (cpu.user + cpu.system) / 1e6,
    mysqldCpuSeconds: mysqldBefore === null || mysqldAfter === null ? null : mysqldAfter - mysqldBefore,
  }
}

/** The medians of a variant's samples, as the report prints them. */
export interface Figure {
  readonly events_per_second: number
  readonly node_cpu_s_per_1000: number
  readonly mysqld_cpu_s_per_1000: number | null
  readonly samples: readonly number[]
}

export function figureOf(samples: readonly Sample[]): Figure {
  const rates = samples.map(({ events, seconds }) => events / seconds)
  const mysqld = samples.flatMap(({ events, mysqldCpuSeconds }) => (mysqldCpuSeconds === null ? [] : [(mysqldCpuSeconds / events) * 1000]))
  return {
    events_per_second: Math.round(median(rates)),
    node_cpu_s_per_1000: round(median(samples.map(({ events, nodeCpuSeconds }) => (nodeCpuSeconds / events) * 1000)), 4),
    mysqld_cpu_s_per_1000: mysqld.length === 0 ? null : round(median(mysqld), 4),
    samples: rates.map(Math.round),
  }
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
