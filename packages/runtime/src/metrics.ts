import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

type Labels = Readonly<Record<string, string>>

export interface MetricSpec {
  /** Prometheus name, with its unit last. */
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
}

export interface CounterMetric {
  inc(labels?: Labels, by?: number): void
}
export interface GaugeMetric {
  set(labels: Labels, value: number): void
}
export interface HistogramMetric {
  observe(labels: Labels, value: number): void
}

export interface Metrics {
  counter(spec: MetricSpec): CounterMetric
  gauge(spec: MetricSpec): GaugeMetric
  histogram(spec: MetricSpec & { readonly buckets: readonly number[] }): HistogramMetric
  readonly contentType: string
  /** The text exposition format of Prometheus. */
  render(): Promise<string>
}

/** A registry of its own: nothing is global, so two services can live in one test process. */
export function createMetrics({ processMetrics }: { readonly processMetrics: boolean }): Metrics {
  const registry = new Registry()
  if (processMetrics) collectDefaultMetrics({ register: registry })
  const config = ({ name, help, labels = [] }: MetricSpec) => ({ name, help, labelNames: [...labels], registers: [registry] })
  return {
    counter(spec) {
      const counter = new Counter(config(spec))
      return { inc: (labels = {}, by = 1) => counter.inc(labels, by) }
    },
    gauge(spec) {
      const gauge = new Gauge(config(spec))
      return { set: (labels, value) => gauge.set(labels, value) }
    },
    histogram(spec) {
      const histogram = new Histogram({ ...config(spec), buckets: [...spec.buckets] })
      return { observe: (labels, value) => histogram.observe(labels, value) }
    },
    contentType: registry.contentType,
    render: () => registry.metrics(),
  }
}
