/** Not cumulative; the last count is for longer durations. @typedef {{counts: Float64Array, sum_s: number}} Series */

/**
 * prom-client's own histogram builds a string from the labels to find a series. prom-client needs only `get`.
 * @param {{name: string, help: string, buckets_s: number[]}} options  buckets: upper bounds, ascending
 */
export function createRequestDurations ({ name, help, buckets_s: bounds }) {
  /** By route, method, first digit of the status. @type {Map<string, Map<string, Series[]>>} */
  const routes = new Map()

  /** @param {string} route @param {string} method @param {number} digit */
  function seriesOf (route, method, digit) {
    const methods = routes.get(route) ?? new Map()
    routes.set(route, methods)
    const series = methods.get(method) ?? []
    methods.set(method, series)
    return (series[digit] ??= { counts: new Float64Array(bounds.length + 1), sum_s: 0 })
  }

  return {
    name,

    /**
     * `route` and `method` must have few values: all stay in memory.
     * @param {string} route @param {string} method @param {number} status @param {number} durationS
     */
    observe (route, method, status, durationS) {
      const digit = Math.trunc(status / 100)
      const series = routes.get(route)?.get(method)?.[digit] ?? seriesOf(route, method, digit)
      let bucket = 0
      while (durationS > bounds[bucket]) bucket++
      series.counts[bucket]++
      series.sum_s += durationS
    },

    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: values() })
  }

  function values () {
    return [...routes].flatMap(([route, methods]) => [...methods].flatMap(([method, byDigit]) =>
      byDigit.flatMap(({ counts, sum_s: sum }, digit) => {
        const labels = { route, method, status_class: `${digit}xx` }
        let count = 0
        const buckets = [...counts].map((inBucket, index) => {
          count += inBucket
          return { metricName: `${name}_bucket`, labels: { le: bounds[index] ?? '+Inf', ...labels }, value: count }
        })
        return [
          ...buckets,
          { metricName: `${name}_sum`, labels, value: sum },
          { metricName: `${name}_count`, labels, value: count }
        ]
      })))
  }
}
