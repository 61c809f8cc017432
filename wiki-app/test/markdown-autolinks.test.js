import assert from 'node:assert/strict'
import test from 'node:test'
import toHtml from '../src/markdown/html.js'
import { assertHarmless } from './harmless.js'

/** @param {string} markdown */
const render = (markdown) => toHtml({ markdown, maxBytes: 10_000_000 })

/** The links of a text, as address and text. @param {string} markdown */
const linksIn = (markdown) => {
  const { html } = render(markdown)
  assertHarmless(html)
  return [...html.matchAll(/<a href="([^"]*)"(?: rel="[^"]*")?>(.*?)<\/a>/g)]
    .map(([, href, text]) => [href, text].map((each) => each.replaceAll('&amp;', '&')))
}
/** Addresses that are their own text. @param {string} markdown @param {...string} addresses */
const links = (markdown, ...addresses) =>
  assert.deepEqual(linksIn(markdown), addresses.map((each) => [each, each]), markdown)

test('a bare address is a link; the examples of GitHub’s specification', () => {
  for (const [markdown, text] of [
    ['www.commonmark.org', 'www.commonmark.org'],
    ['Visit www.commonmark.org/help for more information.', 'www.commonmark.org/help'],
    ['Visit www.commonmark.org.', 'www.commonmark.org'],
    ['Visit www.commonmark.org/a.b.', 'www.commonmark.org/a.b'],
    ['www.google.com/search?q=Markup+(business)', 'www.google.com/search?q=Markup+(business)'],
    ['www.google.com/search?q=Markup+(business)))', 'www.google.com/search?q=Markup+(business)'],
    ['(www.google.com/search?q=Markup+(business))', 'www.google.com/search?q=Markup+(business)'],
    ['(www.google.com/search?q=Markup+(business)', 'www.google.com/search?q=Markup+(business)'],
    ['www.google.com/search?q=(business))+ok', 'www.google.com/search?q=(business))+ok'],
    ['www.google.com/search?q=commonmark&hl=en', 'www.google.com/search?q=commonmark&hl=en'],
    ['www.google.com/search?q=commonmark&hl;', 'www.google.com/search?q=commonmark'],
    ['www.commonmark.org/he<lp', 'www.commonmark.org/he']
  ]) assert.deepEqual(linksIn(markdown), [[`http://${text}`, text]], markdown)

  links('http://commonmark.org', 'http://commonmark.org')
  links('(Visit https://encrypted.google.com/search?q=Markup+(business))',
    'https://encrypted.google.com/search?q=Markup+(business)')
  for (const [markdown, ...addresses] of [
    ['foo@bar.baz', 'foo@bar.baz'],
    ["hello@mail+xyz.example isn't valid, but hello+xyz@mail.example is.", 'hello+xyz@mail.example'],
    ['a.b-c_d@a.b', 'a.b-c_d@a.b'],
    ['a.b-c_d@a.b.', 'a.b-c_d@a.b'],
    ['a.b-c_d@a.b-'],
    ['a.b-c_d@a.b_']
  ]) assert.deepEqual(linksIn(markdown), addresses.map((each) => [`mailto:${each}`, each]), markdown)
  links('mailto:a.b-c_d@a.b/', 'mailto:a.b-c_d@a.b')
})

test('marks of Markdown within an address are part of it; around it they stay marks', () => {
  assert.deepEqual(linksIn('https://example.org/a_b_c/*d*/[x](y)'), [
    ['https://example.org/a_b_c/*d*/%5Bx%5D(y)', 'https://example.org/a_b_c/*d*/[x](y)']
  ])
  assert.equal(
    render('**https://example.org/** ~~www.example.org~~ *a@b.example*').html,
    '<p><strong><a href="https://example.org/" rel="nofollow ugc">https://example.org/</a></strong> ' +
      '<s><a href="http://www.example.org" rel="nofollow ugc">www.example.org</a></s> ' +
      '<em><a href="mailto:a@b.example">a@b.example</a></em></p>\n'
  )
  links('"https://example.org/a", \'https://example.org/b\'; https://example.org/c?! https://example.org/d&copy;',
    'https://example.org/a', 'https://example.org/b', 'https://example.org/c', 'https://example.org/d')
})

test('what GitHub leaves alone stays text', () => {
  for (const text of [
    '`https://example.org`', '    https://example.org', 'ahttps://example.org', 'https:/example.org', 'http://',
    'ftp://example.org', 'javascript://example.org', 'https\\://example.org', 'www.', 'www.example_a.org',
    'http://a_b', 'http://[::1]/', 'xwww.example.org', 'a@b', 'a\\@b.example', '@b.example', 'a@.example',
    'example.org', '//example.org', 'WWW.example.org', '_www.a_b.c _www._www._www.'
  ]) assert.deepEqual(linksIn(text), [], text)
})

test('an address in a link, an image or a heading becomes no second link', () => {
  for (const text of [
    '[https://example.org](/x)', '[a www.example.org a@b.example](/x)', '[https://example.org][r]\n\n[r]: /x',
    '[[a|https://example.org]]', '<https://example.org>'
  ]) assert.equal(render(text).html.match(/<a /g)?.length, 1, text)
  assert.match(render('![https://example.org](/files/0123456789abcdef0123456789abcdef.png)').html,
    /alt="https:\/\/example\.org"/)
  assert.match(render('# See https://example.org/a').html, /<h2 id="see-https-example-org-a">See <a href/)
  assert.match(
    render('|a|\n|-|\n|https://example.org|').html,
    /<td><a href="https:\/\/example\.org" rel="nofollow ugc">/
  )
})

test('an address is encoded, its text is as written; the wiki’s links to pages are not concerned', () => {
  assert.deepEqual(linksIn('https://sl.example/Čebela HTTP://localhost:3000/x'), [
    ['https://sl.example/%C4%8Cebela', 'https://sl.example/Čebela'],
    ['HTTP://localhost:3000/x', 'HTTP://localhost:3000/x']
  ])
  assert.deepEqual(render('https://wiki.example/wiki/a').links, [])
})

test('no quoting, tag or entity leads out of an address', () => {
  for (const text of [
    'https://a.b/"onmouseover="alert(1)', 'https://a.b/\'><script>alert(1)</script>', 'https://a.b\u0000/<b>',
    'www.a.b/"><img src=x onerror=alert(1)>', 'x"onclick=alert(1)@a.b', 'a@b.c"onclick="alert(1)',
    'https://a.b/&#x22;onclick=alert(1)', 'https://a.b/\\"x', 'mailto:javascript:alert(1)@a.b',
    'https://javascript:alert(1)@a.b', 'https://a.b/](javascript:alert(1))', '[https://a.b/](javascript:alert(1))',
    'https://a.b/%00%0a%22', 'https://a.b/\u202Etxt', 'https://a.b/{{x}}<%= y %>', 'https://a.b\u0000www.c.d@e.f'
  ]) assertHarmless(render(text).html)
})
