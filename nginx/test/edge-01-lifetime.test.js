import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asctimeDate, httpDate, rfc850Date, startEdge } from './edge-helper.js'

/** Response headers → whether a second request is answered from the cache. Each profile has its own edge. */
/** @type {[string, Record<string, string | string[]>, {rfc9111: boolean, cloudflare?: boolean, status?: number}][]} */
const CASES = [
  ['max-age', { 'cache-control': 'max-age=60' }, { rfc9111: true }],
  ['max-age=0', { 'cache-control': 'max-age=0' }, { rfc9111: false }],
  ['a directive in mixed case', { 'cache-control': 'MaX-aGe=60' }, { rfc9111: true }],
  ['a quoted argument', { 'cache-control': 'max-age="60"' }, { rfc9111: true }],
  [
    'max-age only inside a quoted string',
    { 'cache-control': 'ext="max-age=60, x"' },
    { rfc9111: false, cloudflare: true }
  ],
  ['no-store inside a quoted string', { 'cache-control': 'ext="no-store", max-age=60' }, { rfc9111: true }],
  [
    'no-store after an unclosed quote',
    { 'cache-control': 'max-age=60, ext="a, no-store' },
    { rfc9111: false }
  ],
  [
    'no-store after an escaped quote in a quoted string',
    { 'cache-control': 'ext="a\\"b, no-store", max-age=60' },
    { rfc9111: true }
  ],
  ['max-age=60 before max-age=0', { 'cache-control': 'max-age=60, max-age=0' }, { rfc9111: true }],
  ['max-age=0 on the line before max-age=60', { 'cache-control': ['max-age=0', 'max-age=60'] }, { rfc9111: false }],
  ['a max-age above 2^31', { 'cache-control': 'max-age=99999999999999999999' }, { rfc9111: true }],
  ['a max-age with leading zeros', { 'cache-control': 'max-age=0060' }, { rfc9111: true }],
  [
    'a negative max-age and an Expires in the future',
    { 'cache-control': 'max-age=-60', expires: httpDate(60) },
    { rfc9111: false }
  ],
  ['a fraction as max-age', { 'cache-control': 'max-age=60.5' }, { rfc9111: false }],
  ['a max-age with letters', { 'cache-control': 'max-age=60s' }, { rfc9111: false }],
  ['white space before the equals sign', { 'cache-control': 'max-age =60' }, { rfc9111: false }],
  ['white space after the equals sign', { 'cache-control': 'max-age= 60' }, { rfc9111: false }],
  ['empty list members', { 'cache-control': ', ,max-age=60,,' }, { rfc9111: true }],
  ['s-maxage=60 and max-age=0', { 'cache-control': 'max-age=0, s-maxage=60' }, { rfc9111: true }],
  ['s-maxage=0 and max-age=60', { 'cache-control': 'max-age=60, s-maxage=0' }, { rfc9111: false }],
  ['Expires', { expires: httpDate(60) }, { rfc9111: true }],
  ['Expires in lower case', { expires: httpDate(60).toLowerCase() }, { rfc9111: true }],
  ['Expires in UTC instead of GMT', { expires: httpDate(60).replace('GMT', 'UTC') }, { rfc9111: false }],
  ['Expires with an offset', { expires: httpDate(60).replace('GMT', '+0000') }, { rfc9111: false }],
  ['Expires without a zone', { expires: httpDate(60).replace(' GMT', '') }, { rfc9111: false }],
  ['Expires on the 29th of February of a common year', { expires: 'Mon, 29 Feb 2101 00:00:00 GMT' }, { rfc9111: false }],
  ['Expires on the 29th of February of a leap year', { expires: 'Fri, 29 Feb 2104 00:00:00 GMT' }, { rfc9111: true }],
  [
    'Expires with a two-digit year more than 50 years ahead',
    { expires: rfc850Date(new Date(Date.UTC(new Date().getUTCFullYear() + 60, 0, 1))) },
    { rfc9111: false }
  ],
  ['Expires in a format of ISO 8601', { expires: '2104-02-29T00:00:00Z' }, { rfc9111: false }],
  ['Expires in the format of asctime', { expires: asctimeDate(new Date(Date.now() + 86400e3)) }, { rfc9111: true }],
  [
    'Expires in the format of RFC 850 in UTC',
    { expires: rfc850Date(new Date(Date.now() + 86400e3)).replace('GMT', 'UTC') },
    { rfc9111: false }
  ],
  ['Expires in another time zone', { expires: httpDate(60).replace('GMT', 'EST') }, { rfc9111: false }],
  ['Expires in the past', { expires: httpDate(-60) }, { rfc9111: false }],
  ['Expires: 0', { expires: '0' }, { rfc9111: false }],
  ['two Expires, the first in the past', { expires: [httpDate(-60), httpDate(60)] }, { rfc9111: false }],
  ['Expires after Date but in the past', { expires: httpDate(-30), date: httpDate(-100) }, { rfc9111: false }],
  [
    'Expires in the format of RFC 850',
    { expires: rfc850Date(new Date(Date.now() + 86400e3)) },
    { rfc9111: true }
  ],
  ['max-age=60 and Expires in the past', { 'cache-control': 'max-age=60', expires: httpDate(-60) }, { rfc9111: true }],
  ['an Age below max-age', { 'cache-control': 'max-age=60', age: '30' }, { rfc9111: true }],
  ['an Age equal to max-age', { 'cache-control': 'max-age=60', age: '60' }, { rfc9111: false }],
  [
    'an Age list whose first member is below max-age',
    { 'cache-control': 'max-age=60', age: '10, 600' },
    { rfc9111: true }
  ],
  ['an Age above 2^31', { 'cache-control': 'max-age=60', age: '99999999999999999999' }, { rfc9111: false }],
  ['an Age that is not a number', { 'cache-control': 'max-age=60', age: '1h' }, { rfc9111: true }],
  ['a Date older than max-age', { 'cache-control': 'max-age=60', date: httpDate(-120) }, { rfc9111: false }],
  ['no-store', { 'cache-control': 'no-store, max-age=60' }, { rfc9111: false }],
  ['private', { 'cache-control': 'private, max-age=60' }, { rfc9111: false }],
  ['no-cache with a field name', { 'cache-control': 'no-cache="x", max-age=60' }, { rfc9111: false }],
  ['private with a field name', { 'cache-control': 'private="x", max-age=60' }, { rfc9111: false }],
  [
    'must-understand with no-store and a known status',
    { 'cache-control': 'must-understand, no-store, max-age=60' },
    { rfc9111: true }
  ],
  [
    'must-understand and an unknown status',
    { 'cache-control': 'must-understand, max-age=60' },
    { rfc9111: false, status: 299 }
  ],
  ['an unknown directive', { 'cache-control': 'max-age=60, x-unknown, y="no-store"' }, { rfc9111: true }],
  ['an unknown status', { 'cache-control': 'max-age=60' }, { rfc9111: true, status: 299 }],
  ['Vary: *', { 'cache-control': 'max-age=60', vary: '*' }, { rfc9111: false }],
  ['Vary: * in a list', { 'cache-control': 'max-age=60', vary: 'accept, *' }, { rfc9111: false }],
  ['Set-Cookie', { 'cache-control': 'max-age=60', 'set-cookie': 'a=b' }, { rfc9111: true, cloudflare: false }],
  [
    'max-age in CDN-Cache-Control and no-store in Cache-Control',
    { 'cdn-cache-control': 'max-age=60', 'cache-control': 'no-store' },
    { rfc9111: true }
  ],
  [
    'no-store in CDN-Cache-Control and max-age in Cache-Control',
    { 'cdn-cache-control': 'no-store', 'cache-control': 'max-age=60' },
    { rfc9111: false }
  ],
  [
    'max-age in Cloudflare-CDN-Cache-Control and no-store in CDN-Cache-Control',
    { 'cloudflare-cdn-cache-control': 'max-age=60', 'cdn-cache-control': 'no-store' },
    { rfc9111: true }
  ],
  [
    'a malformed CDN-Cache-Control and no-store in Cache-Control',
    { 'cdn-cache-control': 'max-age=60, &&&', 'cache-control': 'no-store' },
    { rfc9111: false }
  ],
  [
    'an empty CDN-Cache-Control and max-age in Cache-Control',
    { 'cdn-cache-control': '', 'cache-control': 'max-age=60' },
    { rfc9111: true }
  ],
  [
    'CDN-Cache-Control with upper-case keys, which is malformed',
    { 'cdn-cache-control': 'Max-Age=60', 'cache-control': 'no-store' },
    { rfc9111: false }
  ],
  [
    'a string as max-age in CDN-Cache-Control',
    { 'cdn-cache-control': 'max-age="60"', 'cache-control': 'no-store' },
    { rfc9111: false }
  ],
  [
    'CDN-Cache-Control with parameters',
    { 'cdn-cache-control': 'max-age=60;a=b, ext=(1 2);c', 'cache-control': 'no-store' },
    { rfc9111: true }
  ],
  [
    'max-age in CDN-Cache-Control and Expires: 0',
    { 'cdn-cache-control': 'max-age=60', expires: '0' },
    { rfc9111: true }
  ],
  [
    'max-age=60 after max-age=0 in CDN-Cache-Control',
    { 'cdn-cache-control': 'max-age=0, max-age=60' },
    { rfc9111: true }
  ],
  [
    'only a Last-Modified ten days ago',
    { 'last-modified': httpDate(-864000) },
    { rfc9111: true, cloudflare: true }
  ],
  [
    'only a Last-Modified on a 403',
    { 'last-modified': httpDate(-864000) },
    { rfc9111: false, cloudflare: false, status: 403 }
  ],
  ['no caching headers', {}, { rfc9111: false, cloudflare: true }],
  ['no caching headers on a 404', {}, { rfc9111: false, cloudflare: true, status: 404 }],
  ['no caching headers on a 500', {}, { rfc9111: false, cloudflare: false, status: 500 }],
  ['max-age on a 500', { 'cache-control': 'max-age=60' }, { rfc9111: true, status: 500 }],
  [
    'public and Last-Modified on a 403',
    { 'cache-control': 'public', 'last-modified': httpDate(-864000) },
    { rfc9111: true, cloudflare: false, status: 403 }
  ]
]

for (const profile of /** @type {const} */ (['rfc9111', 'cloudflare'])) {
  describe(`in ${profile}, a response`, () => {
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
      test(`is ${reused ? '' : 'not '}reused with ${what}`, async () => {
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
