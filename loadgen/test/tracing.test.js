import assert from 'node:assert/strict'
import test from 'node:test'
import { traceparentOf } from '../scenarios/traceparent.js'
import { contradiction } from '../src/lab/contradiction.js'
import { DEFAULT_SETTINGS } from '../src/lab/settings.js'
import { createSandbox, trialsOf } from './helper.js'

const PLAN = { seed: 7, stream: 1, requests: 1000, pages: 10, edit_ratio: 0 }

test('each iteration has a trace of its own, the same in every process, and the share asked for is sampled', () => {
  const headers = Array.from({ length: 1000 }, (_, index) => traceparentOf(PLAN, index, 0.1))
  for (const header of headers) assert.match(header, /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)
  assert.equal(new Set(headers).size, 1000)
  assert.equal(traceparentOf({ ...PLAN }, 3, 0.1), headers[3])
  const sampled = headers.filter((header) => header.endsWith('-01')).length
  assert.ok(sampled > 60 && sampled < 140, String(sampled))
  assert.ok(!headers.some((header) => /-0{32}-|-0{16}-/.test(header)))
})

test('a traceparent without a wiki that traces is refused', () => {
  assert.match(String(contradiction({ ...DEFAULT_SETTINGS, traceparent: true })), /set trace_ratio$/)
  assert.equal(contradiction({ ...DEFAULT_SETTINGS, traceparent: true, trace_ratio: 0.01 }), null)
})

test('a trial traces what its settings say, and nothing that the environment says', async (t) => {
  const sandbox = await createSandbox()
  t.after(() => sandbox.remove())
  const levels = {
    off: { trace_ratio: null },
    asked: { trace_ratio: 0.5, traceparent: true }
  }
  const settings = { pages: 10, page_size_chars: 500, requests: 100, edit_ratio: 0, duration_max_s: 60 }
  const file = sandbox.experiment({ settings, factors: { traces: levels } })
  // The settings of a wiki that the user traces: nothing listens there.
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', file], {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_SAMPLER: 'always_on'
  })
  assert.equal(exitCode, 0, stdout + stderr)
  const directory = `${sandbox.results}/${/results\/(\S+-mine-\S+)/.exec(stdout)?.[1]}`
  const spansOf = Object.fromEntries(trialsOf(directory)
    .map(({ cell, traces }) => [cell.traces, traces?.spans ?? null]))
  assert.equal(spansOf.off, null)
  // Three of each traced view; the last ones may arrive after the count.
  assert.ok(spansOf.asked > 0 && spansOf.asked < 300, JSON.stringify(spansOf))
})
