import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { ROOT } from '@stevec/harness/config'
import { logOfDoor } from '../src/lab/logs.js'
import { reconcile } from '../src/lab/reconcile.js'

const HEADER = 'planned_at_us,sent_at_us,iteration,page,method,status,failure,phase,error_code,cache_status,' +
  'duration_ms,size_bytes,revision'
const row = (/** @type {string} */ page, { method = 'GET', status = 200, cache = 'MISS', revision = '1' } = {}) =>
  `,1,0,${page},${method},${status},,,,${cache},1,1,${revision}`
/**
 * @param {string} page
 * @param {{method?: string, status?: number, cache?: string, revision?: string, upstream?: string}} [options]
 */
const line = (page, { method = 'GET', status = 200, cache = 'MISS', revision = '1', upstream } = {}) =>
  JSON.stringify({
    method,
    uri: `/wiki/${page}`,
    status,
    cache_status: cache,
    upstream_status: upstream ?? (cache === 'HIT' ? '' : String(status)),
    page_revision: revision
  })
const reached = (/** @type {string} */ page, options = {}) => line(page, { cache: '', ...options })

describe('three witnesses of a trial', () => {
  /** @type {string} */
  let directory
  beforeEach(() => { directory = mkdtempSync(path.join(tmpdir(), 'stevec-reconcile-')) })
  afterEach(() => rmSync(directory, { recursive: true }))

  const write = (/** @type {string} */ name, /** @type {string[]} */ lines) =>
    writeFileSync(path.join(directory, name), gzipSync(lines.map((text) => `${text}\n`).join('')))
  /**
   * @param {{samples?: string[], edge?: string[], origin?: string[], editsApart?: boolean}} change  replaces the
   *   records of a trial with a miss, a hit and an edit of the page a, and a miss of the page b
   * @param {{reads: number, writes: number}} counter
   */
  async function judge ({ samples, edge, origin, editsApart }, counter = { reads: 2, writes: 1 }) {
    write('samples.csv.gz', [
      HEADER,
      ...samples ?? [
        row('a'),
        row('a', { cache: 'HIT' }),
        row('a', { method: 'POST', cache: 'DYNAMIC', revision: '2' }),
        row('b')
      ]
    ])
    write(
      'edge.log.gz',
      edge ?? [
        line('a'),
        line('b'),
        line('a', { cache: 'HIT' }),
        line('a', { method: 'POST', cache: 'DYNAMIC', revision: '2' })
      ]
    )
    write('origin.log.gz', origin ?? [reached('a'), reached('a', { method: 'POST' }), reached('b')])
    return (await reconcile({
      directory,
      doorRole: 'edge',
      editsApart,
      counter: { requests: counter.reads + counter.writes, ...counter }
    })).join('\n')
  }

  test('agree, whatever the order of their records', async () => {
    assert.equal(await judge({}), '')
  })

  test('agree where planned requests were never sent', async () => {
    const sent = [row('a'), row('a', { cache: 'HIT' }), row('a', { method: 'POST', cache: 'DYNAMIC', revision: '2' })]
    assert.equal(await judge({ samples: [...sent, row('b'), '9,,4,page-000001,GET,0,never-sent,,,,,,'] }), '')
  })

  test('agree where edits went past the edge', async () => {
    const edge = [line('a'), line('b'), line('a', { cache: 'HIT' })]
    assert.equal(await judge({ edge, editsApart: true }), '')
    assert.match(await judge({ edge }), /only the client has 1: POST \/wiki\/a/)
    const origin = [reached('a'), reached('c', { method: 'POST' }), reached('b')]
    const elsewhere = /only the former has 1: POST .*a; only the latter has 1: POST .*c/
    assert.match(await judge({ edge, origin, editsApart: true }), elsewhere)
  })

  for (const [what, change, message] of /** @type {[string, Parameters<typeof judge>[0], RegExp][]} */ ([
    [
      'another client\'s request at the edge in place of a lost line',
      {
        edge: [
          line('a'),
          line('c'),
          line('a', { cache: 'HIT' }),
          line('a', { method: 'POST', cache: 'DYNAMIC', revision: '2' })
        ]
      },
      /only the client has 1: GET \/wiki\/b 200 MISS revision 1; only the log has 1: GET \/wiki\/c/
    ],
    [
      'another client\'s request at the origin in place of a missing one',
      { origin: [reached('a'), reached('a', { method: 'POST' }), reached('c')] },
      /what went past the cache is not what reached the origin: only the former has 1: GET \/wiki\/b; only the latter has 1: GET \/wiki\/c/
    ],
    [
      'a miss in the log that was a hit for the client',
      {
        samples: [
          row('a', { cache: 'HIT' }),
          row('a', { cache: 'HIT' }),
          row('a', { method: 'POST', cache: 'DYNAMIC', revision: '2' }),
          row('b')
        ]
      },
      /only the client has 1: GET \/wiki\/a 200 HIT revision 1; only the log has 1: GET \/wiki\/a 200 MISS/
    ],
    [
      'a hit for which the edge asked the origin',
      {
        edge: [
          line('a'),
          line('b'),
          line('a', { cache: 'HIT', upstream: '200' }),
          line('a', { method: 'POST', cache: 'DYNAMIC', revision: '2' })
        ]
      },
      /only the former has 1: GET \/wiki\/a/
    ],
    [
      'the revision of a page',
      {
        samples: [
          row('a', { revision: '2' }),
          row('a', { cache: 'HIT' }),
          row('a', { method: 'POST', cache: 'DYNAMIC', revision: '2' }),
          row('b')
        ]
      },
      /revision 2; only the log has/
    ],
    ['an empty log', { edge: [] }, /only the client has 4: .*, …/]
  ])) {
    test(`disagree on ${what}`, async () => {
      assert.match(await judge(change), message)
    })
  }

  test('disagree if the counter differs from the origin\'s log', async () => {
    assert.match(
      await judge({}, { reads: 3, writes: 0 }),
      /the origin's log has 2 reads and 1 write, but the counter says 3 and 0/
    )
  })

  test('disagree if a log cannot be read', async () => {
    assert.match(await judge({ edge: ['{"method":"GE'] }), /edge\.log\.gz cannot be read: /)
  })

  test('may differ in an unanswered request, and in no other', async () => {
    const lost = [
      row('a', { status: 0, cache: '' }),
      row('a', { cache: 'HIT' }),
      row('a', { method: 'POST', cache: 'DYNAMIC', revision: '2' }),
      row('b')
    ]
    assert.equal(await judge({ samples: lost }), '')
    const [, ...rest] = [
      line('a'),
      line('b'),
      line('a', { cache: 'HIT' }),
      line('a', { method: 'POST', cache: 'DYNAMIC', revision: '2' })
    ]
    assert.equal(
      await judge(
        { samples: lost, edge: rest, origin: [reached('a', { method: 'POST' }), reached('b')] },
        { reads: 1, writes: 1 }
      ),
      ''
    )
    assert.match(await judge({ samples: lost.slice(0, 3) }), /only the log has 1: GET \/wiki\/b/)
  })

  test('allow the edge one refresh for each page that it served as UPDATING, and no other request', async () => {
    const samples = [row('a'), row('a', { cache: 'UPDATING' })]
    const edge = [line('a'), line('a', { cache: 'UPDATING', upstream: '' })]
    assert.equal(await judge({ samples, edge, origin: [reached('a'), reached('a')] }, { reads: 2, writes: 0 }), '')
    assert.match(
      await judge({ samples, edge, origin: [reached('a'), reached('b')] }, { reads: 2, writes: 0 }),
      /only the latter has 1: GET \/wiki\/b/
    )
    assert.match(
      await judge({ samples, edge, origin: [reached('a'), reached('a'), reached('a')] }, { reads: 3, writes: 0 }),
      /only the latter has 1: GET \/wiki\/a/
    )
  })

  test('agree in every trial of the committed run', async () => {
    const trials = path.join(ROOT, 'results/sample-policy/trials')
    let judged = 0
    for (const name of readdirSync(trials)) {
      const trial = path.join(trials, name)
      const { settings, counter } = JSON.parse(readFileSync(path.join(trial, 'trial.json'), 'utf8'))
      assert.deepEqual(
        await reconcile({ directory: trial, doorRole: logOfDoor({ cache: 'edge', door: settings.door }), counter }),
        [],
        trial
      )
      judged += 1
    }
    assert.ok(judged > 20)
  })

  test('may lack the edge\'s log (a CDN) or the origin\'s log (another machine)', async () => {
    await judge({})
    rmSync(path.join(directory, 'edge.log.gz'))
    const counts = { directory, doorRole: /** @type {const} */ ('edge') }
    assert.deepEqual(await reconcile({ ...counts, counter: { requests: 3, reads: 2, writes: 1 } }), [])
    write(
      'origin.log.gz',
      gunzipSync(readFileSync(path.join(directory, 'origin.log.gz'))).toString().trim().split('\n').slice(1)
    )
    assert.match(
      (await reconcile({ ...counts, counter: { requests: 2, reads: 1, writes: 1 } })).join(),
      /only the former has 1: GET \/wiki\/a/
    )
    rmSync(path.join(directory, 'origin.log.gz'))
    assert.deepEqual(await reconcile({ ...counts, counter: { requests: 3, reads: 2, writes: 1 } }), [])
  })
})
