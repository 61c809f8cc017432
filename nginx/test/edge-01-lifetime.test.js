import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { httpDate, startEdge } from './edge-helper.js'

/** Response headers → whether a second request is answered from the cache. Each profile has its own edge. */
/** @type {[string, Record<string, string | string[]>, {rfc9111: boolean, cloudflare?: boolean, status?: number}][]} */
const CASES = [
  ['max-age', { 'cache-control': 'max-age=60' }, { rfc9111: true }],
  ['max-age=0', { 'cache-control': 'max-age=0' }, { rfc9111: false }],
  ['odd case', { 'cache-control': 'MaX-aGe=60' }, { rfc9111: true }],
  ['a quoted argument', { 'cache-control': 'max-age="60"' }, { rfc9111: true }],
  [
    'a directive inside a quoted string',
    { 'cache-control': 'ext="max-age=60, x"' },
    { rfc9111: false, cloudflare: true }
  ],
  ['no-store inside a quoted string', { 'cache-control': 'ext="no-store", max-age=60' }, { rfc9111: true }],
  [
    'no-store behind a quote that is not closed',
    { 'cache-control': 'max-age=60, ext="a, no-store' },
    { rfc9111: false }
  ],
  ['an escaped quote', { 'cache-control': 'ext="a\\"b, no-store", max-age=60' }, { rfc9111: true }],
  ['the first of two lifetimes', { 'cache-control': 'max-age=60, max-age=0' }, { rfc9111: true }],
  ['the first of two lifetimes on two lines', { 'cache-control': ['max-age=0', 'max-age=60'] }, { rfc9111: false }],
  ['a lifetime beyond 2^31', { 'cache-control': 'max-age=99999999999999999999' }, { rfc9111: true }],
  ['leading zeros', { 'cache-control': 'max-age=0060' }, { rfc9111: true }],
  ['a negative lifetime', { 'cache-control': 'max-age=-60', expires: httpDate(60) }, { rfc9111: false }],
  ['a fraction', { 'cache-control': 'max-age=60.5' }, { rfc9111: false }],
  ['letters', { 'cache-control': 'max-age=60s' }, { rfc9111: false }],
  ['white space before the sign of equality', { 'cache-control': 'max-age =60' }, { rfc9111: false }],
  ['white space behind it', { 'cache-control': 'max-age= 60' }, { rfc9111: false }],
  ['empty members', { 'cache-control': ', ,max-age=60,,' }, { rfc9111: true }],
  ['s-maxage over max-age', { 'cache-control': 'max-age=0, s-maxage=60' }, { rfc9111: true }],
  ['s-maxage=0 over max-age', { 'cache-control': 'max-age=60, s-maxage=0' }, { rfc9111: false }],
  ['Expires', { expires: httpDate(60) }, { rfc9111: true }],
  ['Expires in another case', { expires: httpDate(60).toLowerCase() }, { rfc9111: true }],
  ['Expires in UTC', { expires: httpDate(60).replace('GMT', 'UTC') }, { rfc9111: true }],
  ['Expires in another zone', { expires: httpDate(60).replace('GMT', 'EST') }, { rfc9111: false }],
  ['Expires in the past', { expires: httpDate(-60) }, { rfc9111: false }],
  ['Expires: 0', { expires: '0' }, { rfc9111: false }],
  ['Expires against Date', { expires: httpDate(-30), date: httpDate(-100) }, { rfc9111: false }],
  [
    'Expires of RFC 850',
    {
      expires: new Date(Date.now() + 86400e3).toUTCString().replace(
        /^(\w+), (\d+) (\w+) \d\d(\d\d)/,
        (_all, day, date, month, year) => `${({
          Sun: 'Sunday',
          Mon: 'Monday',
          Tue: 'Tuesday',
          Wed: 'Wednesday',
          Thu: 'Thursday',
          Fri: 'Friday',
          Sat: 'Saturday'
        })[/** @type {'Sun'} */ (day)]}, ${date}-${month}-${year}`
      )
    },
    { rfc9111: true }
  ],
  ['max-age over Expires', { 'cache-control': 'max-age=60', expires: httpDate(-60) }, { rfc9111: true }],
  ['an Age that leaves time', { 'cache-control': 'max-age=60', age: '30' }, { rfc9111: true }],
  ['an Age that leaves none', { 'cache-control': 'max-age=60', age: '60' }, { rfc9111: false }],
  ['the first member of an Age list', { 'cache-control': 'max-age=60', age: '10, 600' }, { rfc9111: true }],
  ['an Age that is no number', { 'cache-control': 'max-age=60', age: '1h' }, { rfc9111: true }],
  ['a Date long ago', { 'cache-control': 'max-age=60', date: httpDate(-120) }, { rfc9111: false }],
  ['no-store', { 'cache-control': 'no-store, max-age=60' }, { rfc9111: false }],
  ['private', { 'cache-control': 'private, max-age=60' }, { rfc9111: false }],
  ['private with fields', { 'cache-control': 'private="x", max-age=60' }, { rfc9111: false }],
  ['must-understand over no-store', { 'cache-control': 'must-understand, no-store, max-age=60' }, { rfc9111: true }],
  [
    'must-understand of a status that nobody knows',
    { 'cache-control': 'must-understand, max-age=60' },
    { rfc9111: false, status: 299 }
  ],
  ['a status that nobody knows', { 'cache-control': 'max-age=60' }, { rfc9111: true, status: 299 }],
  ['Vary: *', { 'cache-control': 'max-age=60', vary: '*' }, { rfc9111: false }],
  ['Vary: * in a list', { 'cache-control': 'max-age=60', vary: 'accept, *' }, { rfc9111: false }],
  ['Set-Cookie', { 'cache-control': 'max-age=60', 'set-cookie': 'a=b' }, { rfc9111: true, cloudflare: false }],
  [
    'CDN-Cache-Control over Cache-Control',
    { 'cdn-cache-control': 'max-age=60', 'cache-control': 'no-store' },
    { rfc9111: true }
  ],
  [
    'no-store in CDN-Cache-Control',
    { 'cdn-cache-control': 'no-store', 'cache-control': 'max-age=60' },
    { rfc9111: false }
  ],
  [
    'Cloudflare-CDN-Cache-Control over CDN-Cache-Control',
    { 'cloudflare-cdn-cache-control': 'max-age=60', 'cdn-cache-control': 'no-store' },
    { rfc9111: true }
  ],
  [
    'a malformed CDN-Cache-Control',
    { 'cdn-cache-control': 'max-age=60, &&&', 'cache-control': 'no-store' },
    { rfc9111: false }
  ],
  ['an empty CDN-Cache-Control', { 'cdn-cache-control': '', 'cache-control': 'max-age=60' }, { rfc9111: true }],
  [
    'CDN-Cache-Control with upper-case keys, which is malformed',
    { 'cdn-cache-control': 'Max-Age=60', 'cache-control': 'no-store' },
    { rfc9111: false }
  ],
  [
    'a CDN-Cache-Control lifetime that is a string',
    { 'cdn-cache-control': 'max-age="60"', 'cache-control': 'no-store' },
    { rfc9111: false }
  ],
  [
    'CDN-Cache-Control with parameters',
    { 'cdn-cache-control': 'max-age=60;a=b, ext=(1 2);c', 'cache-control': 'no-store' },
    { rfc9111: true }
  ],
  ['CDN-Cache-Control over Expires', { 'cdn-cache-control': 'max-age=60', expires: '0' }, { rfc9111: true }],
  ['the last of two members of CDN-Cache-Control', { 'cdn-cache-control': 'max-age=0, max-age=60' }, { rfc9111: true }],
  [
    'nothing, with a Last-Modified long ago',
    { 'last-modified': httpDate(-864000) },
    { rfc9111: true, cloudflare: true }
  ],
  ['nothing at all', {}, { rfc9111: false, cloudflare: true }],
  ['nothing at all of a 404', {}, { rfc9111: false, cloudflare: true, status: 404 }],
  ['nothing at all of a 500', {}, { rfc9111: false, cloudflare: false, status: 500 }],
  ['an error with a lifetime', { 'cache-control': 'max-age=60' }, { rfc9111: true, status: 500 }],
  [
    'public alone, of a status without a heuristic',
    { 'cache-control': 'public', 'last-modified': httpDate(-864000) },
    { rfc9111: true, cloudflare: false, status: 403 }
  ]
]

for (const profile of /** @type {const} */ (['rfc9111', 'cloudflare'])) {
  describe(`in ${profile}, an answer is reused`, () => {
    /** @type {Awaited<ReturnType<typeof startEdge>>} */
    let edge
    before(async () => {
      edge = await startEdge(null, (request, response) => {
        const [, headers, { status = 200 }] = CASES[Number(request.url?.slice(1))]
        response.writeHead(status, headers).end('body')
      }, { profile })
    })
    after(() => edge.stop())
    for (const [index, [what, , expected]] of CASES.entries()) {
      const reused = profile === 'cloudflare' ? expected.cloudflare ?? expected.rfc9111 : expected.rfc9111
      test(`${reused ? '' : 'not '}by ${what}`, async () => {
        const first = await edge.get(`/${index}`)
        assert.notEqual(first.cache, 'HIT')
        const second = await edge.get(`/${index}`)
        assert.equal(second.cache === 'HIT', reused, second.cache)
        assert.equal(edge.reached(`/${index}`), reused ? 1 : 2)
        assert.equal(second.body, 'body')
      })
    }
  })
}
