import { describe, expect, it } from 'vitest'
import { createMetrics } from '../src/index.ts'

describe('metrics', () => {
  it('live in a registry of their own', async () => {
    const [one, other] = [createMetrics({ processMetrics: false }), createMetrics({ processMetrics: false })]
    one.counter({ name: 'things_total', help: 'Things.' }).inc()
    other.counter({ name: 'things_total', help: 'Things.' }).inc({}, 5)
    expect(await one.render()).toContain('things_total 1\n')
    expect(await other.render()).toContain('things_total 5\n')
  })

  it('tell about the process only when asked to', async () => {
    expect(await createMetrics({ processMetrics: false }).render()).not.toContain('process_')
    expect(await createMetrics({ processMetrics: true }).render()).toContain('process_resident_memory_bytes')
  })

  it('refuse a name that is taken', () => {
    const metrics = createMetrics({ processMetrics: false })
    metrics.gauge({ name: 'depth', help: 'Depth.' })
    expect(() => metrics.gauge({ name: 'depth', help: 'Depth.' })).toThrow('depth')
  })
})
