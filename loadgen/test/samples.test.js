import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { pageName, requestAt } from '../scenarios/plan.js'
import { failureOf } from '../src/lab/failure.js'
import { percentileOf } from '../src/lab/percentile.js'
import { extractSamples } from '../src/lab/samples.js'

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-samples-'))
after(() => rmSync(directory, { recursive: true }))

const plan = { seed: 1, stream: 1, requests: 4, pages: 3, edit_ratio: 0.5 }
const HEADER = 'metric_name,timestamp,metric_value,method,name,status,extra_tags,metadata'
const K6_CSV = [
  HEADER,
  'http_reqs,1795225723987776,1.000000,GET,page,200,,',
  'stevec_request,1795225723987776,11.482625,GET,,200,cache_status=MISS,' +
    'iteration=1&size_bytes=335&revision=3&error_code=',
  'stevec_request,1795225723990705,14.740747,POST,,200,cache_status=DYNAMIC,' +
    'revision=4&iteration=1&size_bytes=336&error_code=',
  'stevec_request,1795225723991000,1.000000,GET,,200,cache_status=HIT,' +
    'revision=4&iteration=0&size_bytes=336&error_code=',
  'stevec_request,1795225723991594,3.000000,GET,,503,cache_status=,iteration=3&size_bytes=&revision=&error_code=1503',
  'stevec_request,1795225723994747,60000.000000,GET,,0,cache_status=,size_bytes=&revision=&iteration=2&phase=wait&error_code=1050',
  'iterations,1795225723994747,1.000000,,,,,'
].join('\n')

const write = (/** @type {string} */ name, /** @type {string | Buffer} */ content) => {
  const file = path.join(directory, name)
  writeFileSync(file, content)
  return file
}

describe('samples', () => {
  test('have one row per request, failed or not: its send time, page of the plan and duration', async () => {
    const target = path.join(directory, 'samples.csv.gz')
    /** @type {number[]} */
    const done = []
    const counts = await extractSamples({
      sources: [{ file: write('k6.csv.gz', gzipSync(K6_CSV)) }],
      target,
      plan,
      onSample: ({ doneAtUs }) => done.push(doneAtUs)
    })
    const [header, ...rows] = gunzipSync(readFileSync(target)).toString().trim().split('\n')
    assert.equal(
      header,
      'planned_at_us,sent_at_us,iteration,page,method,status,failure,phase,error_code,cache_status,duration_ms,' +
        'size_bytes,revision'
    )
    const page = (/** @type {number} */ iteration) => pageName(requestAt(plan, iteration).page)
    assert.deepEqual(rows, [
      `,${1795225723987776 - 11483},1,${page(1)},GET,200,,,,MISS,11.482625,335,3`,
      `,${1795225723990705 - 14741},1,${page(1)},POST,200,,,,DYNAMIC,14.740747,336,4`,
      `,${1795225723991000 - 1000},0,${page(0)},GET,200,,,,HIT,1,336,4`,
      `,${1795225723991594 - 3000},3,${page(3)},GET,503,status,,1503,,3,,`,
      `,${1795225723994747 - 60000000},2,${page(2)},GET,0,timeout,wait,1050,,60000,,`
    ])
    assert.equal(counts.requests_sent, 5)
    assert.deepEqual([counts.reads_sent, counts.writes_sent], [4, 1])
    assert.deepEqual([counts.requests_failed, counts.requests_unanswered], [2, 1])
    assert.equal(counts.served_by_cache, 1)
    assert.deepEqual(counts.cache_statuses, { MISS: 1, DYNAMIC: 1, HIT: 1, '': 2 })
    assert.equal(counts.duration_max_ms, 60000)
    assert.equal(counts.duration_mean_ms, (11.482625 + 14.740747 + 1) / 3, 'of answered requests')
    assert.deepEqual(counts.failures, { status: 1, timeout: 1 })
    assert.equal(counts.schedule, null)
    assert.deepEqual([counts.first_sent_at_us, counts.last_done_at_us], [1795225723994747 - 60000000, 1795225723994747])
    assert.equal(done.length, 5)
  })

  test('of the open model have planned times, and a row for each request that was never sent', async () => {
    const target = path.join(directory, 'open.csv.gz')
    const [began, second] = [1_795_225_700_000_000, 1_000_000]
    const k6Row = (/** @type {number} */ iteration, /** @type {number} */ lagMs, durationMs = 2) => {
      const plannedAtUs = began + iteration * second
      const doneAtUs = plannedAtUs + (lagMs + durationMs) * 1000
      return `stevec_request,${doneAtUs},${durationMs},GET,,200,cache_status=HIT,` +
        `iteration=${iteration}&planned_at_us=${plannedAtUs}&size_bytes=1&revision=1&error_code=&phase=`
    }
    const { schedule, requests_sent: sent } = await extractSamples({
      sources: [
        { file: write('open-k6.csv.gz', gzipSync([HEADER, k6Row(1, 30), k6Row(0, 10), k6Row(3, 20)].join('\n'))) }
      ],
      target,
      plan: { ...plan, edit_ratio: 0 },
      plannedMs: (index) => 1000 * index
    })
    const rows = gunzipSync(readFileSync(target)).toString().trim().split('\n').slice(1).map((row) => row.split(','))
    assert.deepEqual(rows.map(([planned, at, index]) => [Number(planned) - began, at && Number(at) - began, index]), [
      [second, second + 30_000, '1'],
      [0, 10_000, '0'],
      [3 * second, 3 * second + 20_000, '3'],
      [2 * second, '', '2']
    ])
    assert.deepEqual(rows[3].slice(5, 8), ['0', 'never-sent', ''])
    assert.equal(new Set(rows.map((row) => row.length)).size, 1)
    assert.equal(sent, 3)
    assert.deepEqual(schedule, {
      never_sent: 1, lag_p50_ms: 20, lag_p99_ms: 29.8, lag_max_ms: 30, response_mean_ms: 22
    })
  })

  test('have percentiles that interpolate, and are infinite where a failed request decides', () => {
    const values = Array.from({ length: 101 }, (_, index) => index)
    assert.deepEqual([0, 50, 99, 99.5, 100].map((percent) => percentileOf(values, percent)), [0, 50, 99, 99.5, 100])
    assert.equal(percentileOf(values.slice(0, 100), 99), 98.01)
    assert.equal(percentileOf(Array(1001).fill(1), 99.9, 0), 1)
    assert.equal(percentileOf(Array(1000).fill(1), 99.9, 1), 1, 'the failed one is the 1001st')
    assert.equal(percentileOf(Array(999).fill(1), 99.9, 2), Infinity)
    assert.deepEqual([percentileOf([], 50), percentileOf([], 50, 1)], [null, Infinity])
  })

  test('name how a request failed, by k6\'s code and by what it was doing', () => {
    for (const [status, code, phase, failure] of /** @type {[number, number, any, string][]} */ ([
      [200, 0, '', ''],
      [304, 0, '', ''],
      [503, 1503, '', 'status'],
      [0, 1101, 'connect', 'dns'],
      [0, 1212, 'connect', 'refused'],
      [0, 1211, 'connect', 'connect-timeout'],
      [0, 1050, 'connect', 'connect-timeout'],
      [0, 1050, 'wait', 'timeout'],
      [0, 1210, 'connect', 'unreachable'],
      [0, 1220, 'receive', 'reset'],
      [0, 1201, 'wait', 'reset'],
      [0, 1310, 'connect', 'tls'],
      [0, 1000, 'wait', 'closed'],
      [0, 1000, 'receive', 'closed'],
      [0, 1000, 'connect', 'other']
    ])) assert.equal(failureOf(status, code, phase), failure, `${status} ${code} ${phase}`)
  })

  test('that are cut off cause an error, and no file is written', async () => {
    const source = write('cut.csv.gz', gzipSync(K6_CSV))
    truncateSync(source, statSync(source).size - 20)
    await assert.rejects(
      extractSamples({ sources: [{ file: source }], target: path.join(directory, 'cut-out.csv.gz'), plan }),
      /unexpected end of file/
    )
    assert.equal(existsSync(path.join(directory, 'cut-out.csv.gz')), false)
  })

  test('with unknown columns cause an error', async () => {
    const source = write('other.csv.gz', gzipSync('metric,time\nstevec_request,1'))
    await assert.rejects(
      extractSamples({ sources: [{ file: source }], target: path.join(directory, 'other-out.csv.gz'), plan }),
      /unexpected columns/
    )
  })
})
