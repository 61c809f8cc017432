import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import test from 'node:test'
import ts from 'typescript'
import { get } from '../helper.js'
import { useBrowser } from './helper.js'

const browser = useBrowser()
const ASSETS = new URL('../../src/assets/', import.meta.url)
const read = (/** @type {string} */ file) => readFileSync(new URL(file, ASSETS), 'utf8')

test('style sheets are served without comments and spaces, scripts without comments; they say the same', async (t) => {
  const { app, page } = await browser.open(t)
  /** @type {{url: string}[]} */
  const rules = app.getDecorator('rules')
  const served = new Map(rules.filter(({ url }) => url.startsWith('/assets/'))
    .map(({ url }) => [url.slice('/assets/'.length).replace(/\.[0-9a-f]{12}/, ''), url]))
  const bodyOf = async (/** @type {string} */ file) => (await get(app, String(served.get(file)))).body

  /** As the browser understood it. @param {string} css @returns {Promise<string[]>} */
  const rulesOf = (css) => page.evaluate((text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    // Of values with variables a browser keeps the spaces.
    return [...sheet.cssRules].map(({ cssText }) => cssText.replace(/,\s+/g, ','))
  }, css)
  for (const [file, source] of [['style.css', read('style.css') + read('markdown.css')],
    ...['forms.css', 'editor.css', 'api.css'].map((each) => [each, read(each)])]) {
    const expected = await rulesOf(source)
    assert.ok(expected.length > 2, file)
    assert.deepEqual(await rulesOf(await bodyOf(file)), expected, file)
  }

  const scripts = readdirSync(ASSETS)
    .filter((file) => served.has(file) && file.endsWith('.js') && file !== 'codemirror.js')
  assert.ok(scripts.length > 15)
  for (const file of scripts) {
    const body = await bodyOf(file)
    assert.doesNotMatch(body, /\/\*\*|^\s*\/\//m, file)
    assert.equal(printed(body.replaceAll(/\.[0-9a-f]{12}(?=\.js')/g, '')), printed(inEnglish(read(file))), file)
  }
})

/** As it is served, but for hashes. @param {string} script */
const inEnglish = (script) => script
  .replaceAll(/\bt\(('(?:[^'\\\n]|\\.)*')\)/g, '$1')
  .replaceAll(/(import (?:.* from )?|\bimport\()'\.\//g, "$1'/assets/")

const printer = ts.createPrinter({ removeComments: true })

/** A script in one form, without comments. @param {string} script */
function printed (script) {
  const file = ts.createSourceFile('script.js', script, ts.ScriptTarget.Latest)
  const { parseDiagnostics } = /** @type {{parseDiagnostics?: unknown[]}} */ (/** @type {unknown} */ (file))
  assert.deepEqual(parseDiagnostics, [])
  return printer.printFile(file)
}
