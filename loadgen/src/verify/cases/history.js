import { draw } from '../../../scenarios/plan.js'
import { doKnownRun } from '../known-run.js'
import { numberRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const WITHIN = 0.05

/**
 * Served revisions lag behind the acknowledged ones by known numbers. One client makes the order of events certain.
 * @type {Case}
 */
export const history = {
  name: 'known-history',
  title: 'a history of known staleness',
  async measure (context) {
    const requests = context.short ? 200 : 2_000
    /** @type {Map<string, number[]>} page → times of the acknowledgements of its revisions, from revision 1 */
    const acknowledged = new Map()
    const known = { stale: 0, versions: 0, behindMs: /** @type {number[]} */ ([]) }
    const run = await doKnownRun({
      name: this.name,
      // The pause between a response and the next request exceeds the analysis's tolerance.
      settings: { pages: 5, requests, edit_ratio: 0.2, pause_s: 0.004, connection_reuse: true },
      behaviour: {
        answer ({ method, page, index }) {
          const times = acknowledged.get(page) ?? [-Infinity]
          acknowledged.set(page, times)
          if (method === 'POST') return { hit: false, revision: times.push(performance.now()) }
          const newest = times.length
          const lag = Math.floor(draw(1, 1, index) * 4)
          const revision = Math.max(1, newest - (lag === 3 ? 4 : lag))
          if (revision < newest) {
            known.stale += 1
            known.versions += newest - revision
            known.behindMs.push(performance.now() - times[revision])
          }
          return { hit: false, revision }
        }
      }
    }, context)
    return {
      ask: [{ run }],
      rows: (said) => {
        const [{ freshness, valid }] = said(run).trials
        const longestS = Math.max(...known.behindMs) / 1000
        return [
          {
            ...numberRow(
              'stale reads',
              `of ${requests} requests, a fifth of them edits`,
              known.stale,
              freshness?.reads_stale,
              0
            ),
            ...(valid ? {} : { pass: false })
          },
          numberRow('versions', 'behind, all stale reads together', known.versions, freshness?.versions_behind_sum, 0),
          numberRow('uncertain', 'reads that the tolerance spares', 0, freshness?.reads_uncertain, 0),
          { ...numberRow('seconds', 'behind, at most', longestS, freshness?.staleness_max_s, WITHIN, 's'), timed: true }
        ]
      }
    }
  }
}
