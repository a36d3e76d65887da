/** What the service measures for Prometheus, as OpenTelemetry has it: the same names, labels and values, counted once. @module */
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type MetricData,
} from '@opentelemetry/sdk-metrics'
import type { MetricFamily } from '../metrics.ts'

/** From when to when a value was counted. */
interface Window {
  readonly startTime: HrTime
  readonly endTime: HrTime
}

/** UCUM, by what Prometheus ends the name with. */
const UNITS = [
  [/_seconds(_total)?$/, 's'],
  [/_bytes(_total)?$/, 'By'],
] as const

const describe = ({ name, help }: MetricFamily) => ({
  name,
  description: help,
  unit: UNITS.find(([ending]) => ending.test(name))?.[1] ?? '',
  valueType: ValueType.DOUBLE,
})

const pointsOf = ({ values }: MetricFamily, window: Window): DataPoint<number>[] =>
  values.map(({ labels, value }) => ({ ...window, attributes: labels, value }))

interface Series {
  readonly attributes: Attributes
  /** Upper bound → how many were at most that. */
  readonly atMost: [bound: number, count: number][]
  sum: number
  count: number
}

/** The samples of a histogram by their labels: buckets, sum and count stand apart. */
const seriesOf = ({ name, values }: MetricFamily): Series[] => {
  const all = new Map<string, Series>()
  for (const { name: part, labels, value } of values) {
    const { le, ...attributes } = labels
    const key = JSON.stringify(Object.entries(attributes).sort())
    const series: Series = all.get(key) ?? { attributes, atMost: [], sum: 0, count: 0 }
    all.set(key, series)
    if (part === `${name}_sum`) series.sum = value
    else if (part === `${name}_count`) series.count = value
    else if (le !== undefined && le !== '+Inf') series.atMost.push([Number(le), value])
  }
  return [...all.values()]
}

const histogramPoint = ({ attributes, atMost, sum, count }: Series, window: Window) => {
  const sorted = atMost.toSorted(([a], [b]) => a - b)
  // Prometheus counts what is at most each bound, OpenTelemetry what is between two.
  const upTo = [0, ...sorted.map(([, below]) => below), count]
  const counts = upTo.slice(1).map((below, i) => below - (upTo[i] ?? 0))
  const buckets = { boundaries: sorted.map(([bound]) => bound), counts }
  return { ...window, attributes, value: { buckets, sum, count } }
}

/** @returns undefined for a kind that the service does not measure */
const toMetricData = (family: MetricFamily, window: Window): MetricData | undefined => {
  const common = {
    descriptor: describe(family),
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const { type } = family
  if (type === 'counter') {
    const dataPointType = DataPointType.SUM
    return { ...common, dataPointType, isMonotonic: true, dataPoints: pointsOf(family, window) }
  }
  if (type === 'gauge')
    return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: pointsOf(family, window) }
  if (type !== 'histogram') return undefined
  const dataPoints = seriesOf(family).map((series) => histogramPoint(series, window))
  return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints }
}

export const toOtlpMetrics = (families: readonly MetricFamily[], window: Window): MetricData[] =>
  families.flatMap((family) => toMetricData(family, window) ?? [])
