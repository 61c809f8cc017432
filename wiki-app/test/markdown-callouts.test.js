import assert from 'node:assert/strict'
import test from 'node:test'
import toHtml from '../src/markdown/html.js'
import { assertHarmless } from './harmless.js'

/** @param {string} markdown */
function render (markdown) {
  const { html } = toHtml({ markdown, maxBytes: 10_000_000 })
  assertHarmless(html)
  return html
}

for (const kind of ['NOTE', 'TIP', 'IMPORTANT', 'WARNING', 'CAUTION']) {
  test(`a quote that starts with [!${kind}] is a callout with this title`, () => {
    const name = kind.toLowerCase()
    const expected = `<div class="callout callout-${name}">\n` +
      `<p class="callout-title">${kind[0]}${name.slice(1)}</p>\n<p><em>a</em></p>\n<ul>\n<li>b</li>\n</ul>\n</div>\n`
    assert.equal(render(`> [!${kind}]\n> *a*\n> - b`), expected)
    assert.equal(render(`> [!${name}]  \n>\n> *a*\n>\n> - b`), expected)
  })
}

test('anything else is a quote', () => {
  for (const text of [
    '> [!NOTE] with a title\n> a', '> [!NOTE]', '> [!NEWS]\n> a', '> [!NOTE\n> a', '> a\n> [!NOTE]', '> \\[!NOTE]\n> a',
    '> [!constructor]\n> a', '> [!NOTE"onclick=alert(1)]\n> a', '> - [!NOTE]\n> a', '> # [!NOTE]\n> a'
  ]) {
    assert.match(render(text), /^<blockquote>[^]*<\/blockquote>\n$/, text)
    assert.doesNotMatch(render(text), /callout/, text)
  }
  assert.equal(render('[!NOTE]\na'), '<p>[!NOTE]\na</p>\n')
})

test('callouts and quotes contain each other', () => {
  assert.equal(
    render('> [!NOTE]\n> a\n> > b\n> > > [!TIP]\n> > > c').replaceAll('\n', ''),
    '<div class="callout callout-note"><p class="callout-title">Note</p><p>a</p><blockquote><p>b</p>' +
      '<div class="callout callout-tip"><p class="callout-title">Tip</p><p>c</p></div></blockquote></div>'
  )
  assert.match(render('- > [!NOTE]\n  > a'), /<li>\n<div class="callout callout-note">/)
  assert.match(render('> [!NOTE]\n> a\n\n[!NOTE]: /x'), /callout/, 'even where it could be a link')
})
