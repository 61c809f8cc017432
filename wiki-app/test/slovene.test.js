import assert from 'node:assert/strict'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { BROWSER, get, useWiki } from './helper.js'

const wiki = useWiki()
const RENDERED_MAX_MS = 60_000
const FORM = { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded' }

/** @param {import('fastify').FastifyInstance} app @param {string} name @param {Record<string, string>} fields */
const save = (app, name, fields) =>
  app.inject({
    method: 'POST', url: `/edit/text/${name}`, headers: FORM, payload: new URLSearchParams(fields).toString()
  })

/** @param {import('light-my-request').Response} response @param {RegExp[]} texts */
function says ({ body }, ...texts) {
  assert.match(body, /<html lang="sl"[ >]/)
  for (const text of texts) assert.match(body, text)
}

test('a wiki speaks Slovene: pages, forms, lists, errors, scripts and what is rendered', async (t) => {
  const app = await wiki.build(t, { WIKI_LANGUAGE: 'sl', ACCESS: 'open' })
  says(await get(app, '/', BROWSER), /<h1>Dobrodošlica<\/h1>/, /Ta wiki še nima domače strani/)

  const text = '# a\n\n## b\n\nx[^1]\n\n> [!NOTE]\n> y\n\n[^1]: z'
  const saved = await save(app, 'a', { base_revision: '0', content: text, tags: 'c' })
  assert.equal(saved.statusCode, 303)
  const page = await get(app, '/wiki/a', BROWSER)
  says(page, />Uredi<\/a>/, />Zgodovina<\/a>/, /Zadnje urejanje <time/, /\d+ bajt/, /Oznake: <a/,
    /\d{1,2}\. \d{1,2}\. \d{4}, \d\d:\d\d UTC/, /aria-label="Uredi razdelek „b“">Uredi</, />Opomba<\/p>/,
    /aria-label="Opombe"/, /placeholder="Iskanje"/)
  const form = await get(app, '/edit/text/a', BROWSER)
  says(form, /<title>Urejanje strani „a“/, />Shrani<\/button>/, />Predogled<\/button>/)
  await save(app, 'a', { base_revision: '1', content: text.replace('x', 'w') })
  says(await get(app, '/history/a', BROWSER), /Zgodovina strani „a“/, /različica 2/, /brez imena/)
  says(await get(app, '/difference/a?from=1&to=2', BROWSER), /Od <a href="[^"]*">različice 1<\/a> do/, /nespremenjen/)
  says(await get(app, '/search?q=w', BROWSER), /Iskanje: „w“/, /V naslovih/)
  says(await get(app, '/changes', BROWSER), /<h1 dir="auto">Zadnje spremembe/)
  assert.match((await get(app, '/changes.atom')).body, /xml:lang="sl"[^]*<title>Spremembe wikija</)
  says(await get(app, '/status', BROWSER), /<h2>Wiki: deluje/, /<h2>Baza: deluje/, /Vozlišče 1: primarno od/)
  says(await get(app, '/wiki/Save', BROWSER), /Strani z imenom „Save“ ni/)
  says(await get(app, '/history/Save', BROWSER), /Strani z imenom „Save“ ni/)
  says(await get(app, '/nothing', BROWSER), /<h1>Ni najdeno/, /Na tem naslovu ni ničesar\./)

  const clash = await save(app, 'a', { base_revision: '1', content: text.replace('x', 'v') })
  assert.equal(clash.statusCode, 409)
  says(clash, /Dve urejanji strani „a“/, /je nekdo shranil različico 2/)
  says(await save(app, 'a%2F..', { base_revision: '0', content: 'x' }), /To ne more biti ime strani: /)

  await save(app, 'Talk:a', { base_revision: '0', content: '## Vprašanje\n\nx' })
  says(await get(app, '/wiki/Talk:a', BROWSER), /aria-label="Odgovori na „Vprašanje“">Odgovori</)

  const [script] = /\/assets\/page\.\w+\.js/.exec(page.body) ?? []
  const { body } = await get(app, String(script))
  assert.match(body, /'Prijava'/)
  assert.doesNotMatch(body, /\bt\('/)
  const problem = await get(app, '/api/v1/pages/nothing')
  assert.match(problem.json().detail, /There is no page/, 'programs read English')
})

test('the forms of signing in are Slovene', async (t) => {
  const app = await wiki.build(t, { WIKI_LANGUAGE: 'sl', ACCESS: 'users' })
  says(await get(app, '/edit/sign-in', BROWSER), /<h1>Prijava<\/h1>/, /Tvoje geslo/)
  const wrong = await app.inject({ method: 'POST', url: '/edit/sign-in', headers: FORM, payload: 'name=a&password=b' })
  assert.equal(wrong.statusCode, 401)
  says(wrong, /To ime in to geslo ne gresta skupaj\./)
})

test('a wiki that changes its language renders its pages again', async (t) => {
  const uri = wiki.freshUri()
  const first = await wiki.build(t, { MONGODB_URI: uri })
  await save(first, 'a', { base_revision: '0', content: '## b' })
  assert.match((await get(first, '/wiki/a', BROWSER)).body, /aria-label="Edit section “b”"/)
  await first.close()
  const second = await wiki.build(t, { MONGODB_URI: uri, WIKI_LANGUAGE: 'sl' })
  assert.ok(await waitUntil(async () => {
    const { body } = await get(second, '/wiki/a', BROWSER)
    return body.includes('aria-label="Uredi razdelek „b“">Uredi</button>')
  }, RENDERED_MAX_MS))
})
