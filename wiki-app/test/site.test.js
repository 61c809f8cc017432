import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { readConfig } from '../src/config.js'
import { accentStyle, contrast, DARK, LIGHT } from '../src/site/colour.js'
import { BROWSER, get, useWiki } from './helper.js'
import { png } from './images.js'

const wiki = useWiki()
const SVG = '<?xml version="1.0"?>\n<!-- a > b -->\n' +
  '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

/** @param {import('node:test').TestContext} t @param {string | Buffer} bytes */
function fileOf (t, bytes) {
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-logo-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'logo')
  writeFileSync(file, bytes)
  return file
}

test('a wiki shows its own name, description, logo and colour, and escapes them', async (t) => {
  const app = await wiki.build(t, {
    WIKI_NAME: 'Zapiski <b>& drugo',
    WIKI_DESCRIPTION: 'Kar "vemo" <skupaj>',
    WIKI_LOGO: fileOf(t, SVG),
    WIKI_COLOUR: '#ffcc00'
  })
  const { body } = await get(app, '/', BROWSER)
  assert.match(body, /<title>Welcome – Zapiski &lt;b&gt;&amp; drugo<\/title>/)
  assert.match(body, /<meta name="description" content="Kar &quot;vemo&quot; &lt;skupaj&gt;">/)
  assert.match(body, /<p>Kar &quot;vemo&quot; &lt;skupaj&gt;<\/p>/)
  assert.match((await get(app, '/changes.atom')).body, /<author><name>Zapiski &lt;b&gt;&amp; drugo<\/name>/)
  assert.equal((await get(app, '/api/v1/openapi.json')).json().info.title, 'Zapiski <b>& drugo')

  const [, logo] = /<img src="(\/assets\/logo\.\w+\.svg)" alt="">/.exec(body) ?? []
  assert.ok(body.includes(`<link rel="icon" type="image/svg+xml" href="${logo}">`))
  for (const url of [String(logo), '/favicon.ico']) {
    const { headers, body: bytes } = await get(app, url)
    assert.equal(bytes, SVG)
    assert.equal(headers['content-type'], 'image/svg+xml')
    assert.equal(headers['content-security-policy'],
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox")
    assert.equal(headers['x-content-type-options'], 'nosniff')
  }
  assert.match(String((await get(app, String(logo))).headers['cache-control']), /immutable/)
  const [style] = /\/assets\/style\.\w+\.css/.exec(body) ?? []
  assert.ok((await get(app, String(style))).body.endsWith(accentStyle('#ffcc00')))
})

test('another name changes the entity tag of a page', async (t) => {
  const uri = wiki.freshUri()
  const tags = []
  for (const name of ['One', 'Two']) {
    const app = await wiki.build(t, { MONGODB_URI: uri, WIKI_NAME: name })
    await app.inject({ method: 'PUT', url: '/api/v1/pages/a', payload: { content: 'a' }, headers: BROWSER })
    const { headers, body } = await get(app, '/wiki/a')
    assert.match(body, new RegExp(`<title>a – ${name}</title>`))
    tags.push(headers.etag)
    await app.close()
  }
  assert.notEqual(tags[0], tags[1])
})

test('any colour can be read in both modes, on all that it stands on', () => {
  for (const colour of ['#000000', '#ffffff', '#ffcc00', '#1f6fae', '#7f7f7f', '#ff0000', '#00FF00', '#0000ff']) {
    const [light, dark] = /** @type {string[]} */ (accentStyle(colour).match(/#[0-9a-f]{6}/g))
    for (const ground of LIGHT) assert.ok(contrast(light, ground) >= 4.5, `${colour} as ${light} on ${ground}`)
    for (const ground of DARK) assert.ok(contrast(dark, ground) >= 4.5, `${colour} as ${dark} on ${ground}`)
  }
  assert.match(accentStyle('#1f5f8e'), /^:root\{--accent:#1f5f8e\}/, 'a colour that can be read stays as it is')
})

test('a file that is no logo stops the start and says why', async (t) => {
  const bad = /** @type {[string, RegExp][]} */ ([
    ['/nowhere/logo.svg', /WIKI_LOGO="\/nowhere\/logo.svg" cannot be read \(ENOENT\)/],
    [tmpdir(), /is not allowed: it is not a file/],
    [fileOf(t, '<html><svg></svg></html>'), /is not allowed: the file is no SVG, PNG or WebP picture/],
    [fileOf(t, Buffer.concat([png(), Buffer.alloc(102_400)])), /the file has \d+ bytes, at most 102400 are possible/]
  ])
  for (const [file, message] of bad) await assert.rejects(wiki.build(t, { WIKI_LOGO: file }), { message })
})

test('settings of what the wiki shows of itself are one line each, and not too long', () => {
  for (const settings of [
    { WIKI_NAME: '' }, { WIKI_NAME: 'x'.repeat(61) }, { WIKI_NAME: 'a\nb' }, { WIKI_NAME: 'a\u202eb' },
    { WIKI_DESCRIPTION: 'x'.repeat(301) }, { WIKI_COLOUR: 'red' }, { WIKI_COLOUR: '#12345g' }, { WIKI_LANGUAGE: 'xx' }
  ]) assert.throws(() => readConfig(settings), /is not allowed: it must be/, JSON.stringify(settings))
  assert.equal(readConfig({ WIKI_NAME: 'č'.repeat(60) }).WIKI_NAME, 'č'.repeat(60))
})
