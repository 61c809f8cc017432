import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { pageName, requestAt } from '../scenarios/plan.js'
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
  'stevec_request,1795225723994747,60000.000000,GET,,0,cache_status=,size_bytes=&revision=&iteration=2&error_code=1050',
  'iterations,1795225723994747,1.000000,,,,,'
].join('\n')

const write = (/** @type {string} */ name, /** @type {string | Buffer} */ content) => {
  const file = path.join(directory, name)
  writeFileSync(file, content)
  return file
}

describe('samples', () => {
  test('are one row a request: when it was sent, which page of the plan, ' +
    'how long a user waited; failures stay', async () => {
    const target = path.join(directory, 'samples.csv.gz')
    /** @type {number[]} */
    const done = []
    const counts = await extractSamples({
      source: write('k6.csv.gz', gzipSync(K6_CSV)),
      target,
      plan,
      onSample: ({ doneAtUs }) => done.push(doneAtUs)
    })
    const [header, ...rows] = gunzipSync(readFileSync(target)).toString().trim().split('\n')
    assert.equal(
      header,
      'sent_at_us,iteration,page,method,status,error_code,cache_status,duration_ms,size_bytes,revision'
    )
    const page = (/** @type {number} */ iteration) => pageName(requestAt(plan, iteration).page)
    assert.deepEqual(rows, [
      `${1795225723987776 - 11483},1,${page(1)},GET,200,,MISS,11.482625,335,3`,
      `${1795225723990705 - 14741},1,${page(1)},POST,200,,DYNAMIC,14.740747,336,4`,
      `${1795225723991000 - 1000},0,${page(0)},GET,200,,HIT,1,336,4`,
      `${1795225723991594 - 3000},3,${page(3)},GET,503,1503,,3,,`,
      `${1795225723994747 - 60000000},2,${page(2)},GET,0,1050,,60000,,`
    ])
    assert.equal(counts.requests_sent, 5)
    assert.deepEqual([counts.reads_sent, counts.writes_sent], [4, 1])
    assert.deepEqual([counts.requests_failed, counts.requests_unanswered], [2, 1])
    assert.equal(counts.served_by_cache, 1)
    assert.deepEqual(counts.cache_statuses, { MISS: 1, DYNAMIC: 1, HIT: 1, '': 2 })
    assert.equal(counts.duration_max_ms, 60000)
    assert.deepEqual([counts.first_sent_at_us, counts.last_done_at_us], [1795225723994747 - 60000000, 1795225723994747])
    assert.equal(done.length, 5)
  })

  test('that are cut off are an error, not fewer samples', async () => {
    const source = write('cut.csv.gz', gzipSync(K6_CSV))
    truncateSync(source, statSync(source).size - 20)
    await assert.rejects(
      extractSamples({ source, target: path.join(directory, 'cut-out.csv.gz'), plan }),
      /unexpected end of file/
    )
    assert.equal(existsSync(path.join(directory, 'cut-out.csv.gz')), false)
  })

  test('in columns that are not known are an error', async () => {
    const source = write('other.csv.gz', gzipSync('metric,time\nstevec_request,1'))
    await assert.rejects(
      extractSamples({ source, target: path.join(directory, 'other-out.csv.gz'), plan }),
      /unexpected columns/
    )
  })
})
