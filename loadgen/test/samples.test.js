import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, truncateSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { pageName, requestAt } from '../scenarios/plan.js'
import { extractSamples } from '../src/lab/samples.js'

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-samples-'))
after(() => rmSync(directory, { recursive: true }))

const plan = { seed: 1, stream: 1, requests: 4, pages: 3 }
const HEADER = 'metric_name,timestamp,metric_value,method,name,status,extra_tags,metadata'
const K6_CSV = [
  HEADER,
  'http_reqs,1795225723987776,1.000000,GET,page,200,,',
  'stevec_request,1795225723987776,11.482625,,,200,cache_status=MISS,iteration=1&size_bytes=335&revision=3',
  'stevec_request,1795225723990705,14.740747,,,200,cache_status=HIT,revision=4&iteration=0&size_bytes=336',
  'stevec_request,1795225723991594,3.000000,,,503,cache_status=,iteration=3&size_bytes=&revision=',
  'stevec_request,1795225723994747,60000.000000,,,0,cache_status=,size_bytes=&revision=&iteration=2',
  'iterations,1795225723994747,1.000000,,,,,'
].join('\n')

const write = (/** @type {string} */ name, /** @type {string | Buffer} */ content) => {
  const file = path.join(directory, name)
  writeFileSync(file, content)
  return file
}

describe('samples', () => {
  test('are one row a request: when it was sent, which page of the plan, how long a user waited; failures stay', async () => {
    const target = path.join(directory, 'samples.csv.gz')
    const counts = await extractSamples({ source: write('k6.csv.gz', gzipSync(K6_CSV)), target, plan })
    const [header, ...rows] = gunzipSync(readFileSync(target)).toString().trim().split('\n')
    assert.equal(header, 'sent_at_us,iteration,page,method,status,cache_status,duration_ms,size_bytes,revision')
    const page = (/** @type {number} */ iteration) => pageName(requestAt(plan, iteration).page)
    assert.deepEqual(rows, [
      `${1795225723987776 - 11483},1,${page(1)},GET,200,MISS,11.482625,335,3`,
      `${1795225723990705 - 14741},0,${page(0)},GET,200,HIT,14.740747,336,4`,
      `${1795225723991594 - 3000},3,${page(3)},GET,503,,3,,`,
      `${1795225723994747 - 60000000},2,${page(2)},GET,0,,60000,,`
    ])
    assert.equal(counts.requests_sent, 4)
    assert.equal(counts.requests_failed, 2)
    assert.equal(counts.served_by_cache, 1)
    assert.deepEqual(counts.cache_statuses, { MISS: 1, HIT: 1, '': 2 })
    assert.equal(counts.duration_max_ms, 60000)
  })

  test('that are cut off are an error, not fewer samples', async () => {
    const source = write('cut.csv.gz', gzipSync(K6_CSV))
    truncateSync(source, statSync(source).size - 20)
    await assert.rejects(extractSamples({ source, target: path.join(directory, 'cut-out.csv.gz'), plan }), /unexpected end of file/)
  })

  test('in columns that are not known are an error', async () => {
    const source = write('other.csv.gz', gzipSync('metric,time\nstevec_request,1'))
    await assert.rejects(extractSamples({ source, target: path.join(directory, 'other-out.csv.gz'), plan }), /columns that are not known/)
  })
})
