/**
 * Returns k6's options for one of several processes that share a test. k6 gives each a fixed part of the iterations and
 * of the VUs, and numbers both as one process would. https://grafana.com/docs/k6/latest/using-k6/k6-options/reference/
 * (execution segment), lib/execution_segment.go
 * @param {number} index  0…of − 1
 * @param {number} of
 * @returns {string[]} none for a process that has the whole test
 */
export function segmentOptions (index, of) {
  if (of === 1) return []
  const bounds = Array.from({ length: of + 1 }, (_, bound) => bound % of === 0 ? String(bound / of) : `${bound}/${of}`)
  return [
    '--execution-segment', `${bounds[index]}:${bounds[index + 1]}`, '--execution-segment-sequence', bounds.join()
  ]
}
