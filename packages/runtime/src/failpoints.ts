import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError } from './errors.ts'

const VARIABLE = 'ONCELEDGER_FAILPOINTS'
const ENTRY = /^([a-z][a-z.-]*)=(exit|throw|pause:(\d{1,6}))(?:@([1-9]\d{0,5}))?$/

export interface Failpoints<Name extends string> {
  /** Whether this point was named at all. */
  armed(name: Name): boolean
  /** Does what the point was armed with, at its n-th hit; otherwise nothing. */
  hit(name: Name): void | Promise<void>
}

export interface FailpointOptions<Name extends string> {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly known: readonly Name[]
}

interface Armed {
  readonly action: 'exit' | 'throw' | 'pause'
  readonly pauseMs: number
  readonly atHit: number
  hits: number
}

/** Thrown by a failpoint armed with `throw`. */
class FailpointHit extends Error {
  override readonly name = 'FailpointHit'
}

/**
 * Named points at which a test makes the process fail: `ONCELEDGER_FAILPOINTS=store.before-commit=exit@3,other=pause:500`. `exit` is a
 * SIGKILL of the own process: no handler runs, nothing is flushed.
 * @throws ConfigError where NODE_ENV is production, for names that nothing here has or that come twice, and for entries that cannot be read.
 */
export function createFailpoints<Name extends string>({ env, known }: FailpointOptions<Name>): Failpoints<Name> {
  const text = env[VARIABLE] ?? ''
  if (text === '') return { armed: () => false, hit: () => undefined }
  if (env['NODE_ENV'] === 'production')
    throw new ConfigError([`${VARIABLE} is set, which NODE_ENV=production refuses: it makes processes fail on purpose`])
  const points = parseEntries(text, known)
  return {
    armed: (name) => points.has(name),
    hit(name) {
      const point = points.get(name)
      if (point === undefined || ++point.hits !== point.atHit) return undefined
      return act(name, point)
    },
  }
}

function parseEntries(text: string, known: readonly string[]): Map<string, Armed> {
  const points = new Map<string, Armed>()
  const faults: string[] = []
  for (const entry of text.split(',')) {
    const [, name = '', action = '', pause = '0', atHit = '1'] = ENTRY.exec(entry.trim()) ?? []
    if (name === '') faults.push(`${VARIABLE}: "${entry}" is not name=exit|throw|pause:MS[@HIT]`)
    else if (!known.includes(name)) faults.push(`${VARIABLE}: there is no failpoint "${name}"; there are ${known.join(', ')}`)
    else if (points.has(name)) faults.push(`${VARIABLE}: "${name}" is named twice`)
    else
      points.set(name, {
        action: action.startsWith('pause') ? 'pause' : (action as 'exit' | 'throw'),
        pauseMs: Number(pause),
        atHit: Number(atHit),
        hits: 0,
      })
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return points
}

function act(name: string, { action, pauseMs }: Armed): void | Promise<void> {
  if (action === 'exit') {
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => {})
  }
  if (action === 'throw') throw new FailpointHit(`failpoint ${name}`)
  return delay(pauseMs)
}
