import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { freePorts } from '@stevec/harness/ports'
import { requireTool } from '@stevec/harness/tools/locate'
import { useShell } from './shell.js'

describe('stevec load', () => {
  const { sandbox, run } = useShell()
  /** @type {string} */
  let url
  /**
   * Requests to the server since this list was last emptied.
   * @type {{method?: string, url?: string, length: number}[]}
   */
  const asked = []
  // `stevec load` works with any wiki: this one keeps its pages in memory.
  const pages = new Set()
  const server = createServer((request, response) => {
    let length = 0
    request.on('data', (chunk) => { length += chunk.length })
    request.on('end', () => {
      if (request.url === '/wiki/stevec') {
        const reads = asked.filter(({ method }) => method === 'GET').length
        response.end(JSON.stringify({ requests: asked.length, reads, writes: asked.length - reads }))
        return
      }
      asked.push({ method: request.method, url: request.url, length })
      if (request.url === '/slow') {
        setTimeout(() => response.end('page'), 300)
        return
      }
      if (request.method === 'POST') pages.add(request.url)
      response.writeHead(pages.has(request.url) ? 200 : 404, { 'CF-Cache-Status': 'MISS' }).end('page')
    })
  })
  before(async () => {
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
    url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
  })
  after(() => { server.close() })
  const load = async (/** @type {string[]} */ ...args) => {
    asked.length = 0
    const { exitCode, stdout, stderr } = await run(['load', '--url', url, ...args])
    assert.equal(exitCode, 0, stderr)
    return stdout
  }

  test('writes pages of the given length, reads them, and prints the results as JSON', async () => {
    const written = JSON.parse(
      await load('--method', 'POST', '--pages', '3', '--requests', '20', '--length', '700', '--json')
    )
    assert.equal(asked.length, 20)
    assert.ok(
      asked.every(
        ({ method, url, length }) => method === 'POST' && /^\/wiki\/page-00000[123]$/.test(url ?? '') && length === 700
      )
    )
    assert.deepEqual([written.requests, written.failed, written.reached_origin], [20, 0, 20])

    const read = JSON.parse(await load('--pages', '3', '--requests', '30', '--pause', '0.001', '--json'))
    assert.ok(asked.every(({ method }) => method === 'GET'))
    assert.deepEqual([read.requests, read.failed, read.cache_statuses], [30, 0, { MISS: 30 }])
    assert.ok(Math.abs(read.requests_per_min - 60 * read.requests_per_s) <= 0.06)
    const { p50, p90, p99 } = read.response_percentiles_ms
    assert.ok(p50 <= p90 && p90 <= p99 && p99 <= read.response_max_ms)
  })

  test('requests the same pages in the same order for the same seed', async () => {
    await load('--requests', '20', '--seed', '5', '--json')
    const first = asked.map(({ url }) => url)
    await load('--requests', '20', '--seed', '5', '--json')
    assert.deepEqual(asked.map(({ url }) => url), first)
  })

  test('runs in parallel for --duration, and reports failures in its text output', async () => {
    const words = await load('--parallel', '4', '--duration', '1', '--pages', '6')
    assert.ok(asked.length > 4)
    assert.match(words, new RegExp(`requests {6}${asked.length}, \\d+ failed: status \\d+ \\(does every page exist\\?`))
    assert.match(words, /a second, [\d.]+ a minute/)
    assert.match(words, /mean [\d.]+ ms, p50 [\d.]+, p90/)
  })

  test('gives failed requests a kind, and no response time', async () => {
    const [closed] = await freePorts(1)
    const { exitCode, stdout } = await run([
      'load', '--url', `http://127.0.0.1:${closed}`, '--requests', '20', '--json'
    ])
    assert.equal(exitCode, 0)
    const dead = JSON.parse(stdout)
    assert.deepEqual([dead.requests, dead.failed, dead.failures], [20, 20, { refused: 20 }])
    assert.deepEqual(new Set(Object.values(dead.response_percentiles_ms)), new Set([null]))
    assert.deepEqual([dead.response_mean_ms, dead.response_max_ms], [null, null])
  })

  test('with --rate sends requests at planned times, and counts response times from them', async () => {
    const file = path.join(sandbox().directory, 'paths.txt')
    writeFileSync(file, '/slow\n/slow\n')
    const samples = path.join(sandbox().directory, 'samples.csv.gz')
    const hgrm = path.join(sandbox().directory, 'times.hgrm')
    // One connection at a time, and 0.3 s for each request: the tenth is 2.6 s late.
    const outcome = JSON.parse(await load(
      '--urls', file, '--rate', '100', '--requests', '10', '--parallel', '1', '--keepalive', '--samples', samples,
      '--hgrm', hgrm, '--json'
    ))
    assert.deepEqual([outcome.requests, outcome.failed], [10, 0])
    assert.ok(outcome.response_max_ms > 2_500 && outcome.schedule.lag_max_ms > 2_200, JSON.stringify(outcome))
    const rows = gunzipSync(readFileSync(samples)).toString().trim().split('\n').slice(1).map((row) => row.split(','))
    assert.deepEqual(rows.map((row) => row[3]), Array(10).fill('/slow'))
    const plan = rows.map((row) => Number(row[0])).sort((a, b) => a - b)
    assert.ok(plan.slice(1).every((time, index) => Math.abs(time - plan[index] - 10_000) < 3), String(plan))
    const distribution = readFileSync(hgrm, 'utf8')
    assert.match(distribution, /1\.000000000000 +10\n#\[Mean .*\n#\[Max += +\d+\.\d{3}, Total count += +10\]/)
  })

  test('is not affected by a proxy or by options for k6 in the environment', async () => {
    asked.length = 0
    const settings = { HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9', K6_ITERATIONS: '3' }
    const address = url.replace('127.0.0.1', 'wiki.localhost')
    const { exitCode, stdout, stderr } = await sandbox().stevec(
      ['load', '--url', address, '--requests', '20', '--pages', '3', '--json'], settings
    )
    assert.equal(exitCode, 0, stderr)
    assert.deepEqual([JSON.parse(stdout).requests, JSON.parse(stdout).unanswered, asked.length], [20, 0, 20])
  })

  test('exits with 1 if a --fail-if holds, and says which; a failed request is slower than any', async () => {
    const [closed] = await freePorts(1)
    for (const [address, condition, exitCode] of /** @type {[string, string, number][]} */ ([
      [url, 'p99>50s', 0],
      [url, 'failed>1%', 1],
      [`http://127.0.0.1:${closed}`, 'p99>50s', 1]
    ])) {
      const ended = await run([
        'load', '--url', address, '--requests', '5', '--pages', '1000', '--fail-if', condition,
        ...exitCode === 0 ? ['--method', 'POST', '--seed', '2'] : []
      ])
      assert.equal(ended.exitCode, exitCode, ended.stdout + ended.stderr)
      if (exitCode === 0) continue
      assert.match(ended.stderr, new RegExp(`--fail-if ${condition}: it is so, (p99: )?\\S+ `), ended.stderr)
    }
  })

  test('exits with 3 and k6\'s message if the script fails, instead of counting requests as never sent', async () => {
    const k6 = path.join(sandbox().directory, 'k6')
    // The real k6, with a setting that breaks the choice of a page.
    writeFileSync(k6, `#!/bin/sh
STEVEC_GENERATOR=$(printf %s "$STEVEC_GENERATOR" | sed 's/"plan":{/"plan":{"popularity":null,/')
export STEVEC_GENERATOR
exec '${requireTool('k6').path}' "$@"
`, { mode: 0o755 })
    for (const model of [[], ['--rate', '100']]) {
      const { exitCode, stdout, stderr } = await sandbox().stevec(
        ['load', '--url', url, '--requests', '20', '--json', ...model], { K6_BIN: k6 }
      )
      assert.match(stderr, /k6 ended with exit code 108: test aborted: the script failed: TypeError: .* at choosePage /)
      assert.deepEqual([exitCode, stdout], [3, ''])
    }
  })

  test('searches the highest rate at which a condition holds', async () => {
    const file = path.join(sandbox().directory, 'slow.txt')
    writeFileSync(file, '/slow\n')
    // Three at a time, 0.3 s each: ten a second.
    const found = JSON.parse(await load(
      '--urls', file, '--search', 'p99<1s', '--parallel', '3', '--duration', '3', '--json'
    ))
    assert.ok(found.held_per_s >= 5 && found.held_per_s <= 13, JSON.stringify(found))
    assert.ok(found.broken_per_s > found.held_per_s && found.broken_per_s <= 20, JSON.stringify(found))
  })

  test('refuses another host without --i-run-that-host, and wrong options', async () => {
    for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
      [[], /--url is missing/],
      [['--url', 'http://192.0.2.1'], /192\.0\.2\.1 is not this machine.*--i-run-that-host/],
      [['--url', 'http://[2001:db8::1]:80'], /is not this machine/],
      [
        ['--url', 'http://192.0.2.1', '--i-run-that-host', '--parallel', '101'],
        /--parallel must be a whole number from 1 to 100, not "101"/
      ],
      [
        ['--url', 'http://192.0.2.1', '--i-run-that-host', '--requests', '20001'],
        /--requests must be a whole number from 1 to 20000/
      ],
      [
        ['--url', 'http://192.0.2.1', '--i-run-that-host', '--rate', '100', '--duration', '600'],
        /100 a second for 600 s are 60000 requests; at most 20000 are allowed/
      ],
      [['--url', 'http://localhost.example.invalid'], /cannot be resolved/],
      [['--url', url, '--samples', '/nowhere/x.gz'], /--samples \/nowhere\/x\.gz cannot be written/],
      [['--url', url, '--search', 'p99>200ms'], /--search takes an upper limit/],
      [['--url', url, '--method', 'POST', '--writes', '0.5'], /give one of them/],
      [['--url', 'http://localhost/wiki/'], /without a path/],
      [['--url', 'file:///etc'], /http or https URL/],
      [['--url', url, '--method', 'DELETE'], /--method is GET or POST, not "DELETE"/],
      [['--url', url, '--pause', 'long'], /--pause must be a number from 0 to 3600, not "long"/],
      [['--url', url, '--length', '100'], /--length is for --method POST/],
      [['--url', url, '--arrivals', 'poisson'], /--arrivals is for --rate/],
      [['--url', url, '--fail-if', 'p99'], /--fail-if is a comparison such as "p99>200ms"/],
      [['--url', url, '--fail-if', 'rate>5ms'], /rate is in requests a second, not in ms/],
      [['--url', url, '--urls', '/nowhere'], /there is no file \/nowhere/],
      [['--url', url, '--search', 'p99<1s', '--rate', '5'], /leave out --rate/]
    ])) {
      const { exitCode, stderr } = await run(['load', ...args])
      assert.match(stderr, message)
      assert.equal(exitCode, 2)
    }
  })
})
