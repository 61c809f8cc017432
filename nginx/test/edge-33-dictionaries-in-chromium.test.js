import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chromium } from 'playwright-core'
import { waitUntil } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'

const WORDS = Array.from({ length: 500 }, (_, index) => (index * 7919).toString(36)).join(' ')
const PAGE = '/wiki/a'
const MARK = { 'Use-As-Dictionary': `match="${PAGE}", match-dest=("document")` }

/** @param {number} revision */
const documentOf = (revision) => `<!doctype html><title>${revision}</title><p id="text">revision ${revision} ${WORDS}</p>`

/**
 * Which of the responses is the dictionary. Chromium takes none that it would have to ask for each time.
 * @type {[what: string, headers: (revision: number) => Record<string, string>][]}
 */
const CASES = [
  ['the page itself, while it is fresh', () => ({ 'Cache-Control': 'max-age=600', ...MARK })],
  ['the page itself, while it may be stale', () => ({ 'Cache-Control': 'max-age=1, stale-while-revalidate=600', ...MARK })],
  ['a revision that the page links to', (revision) => ({
    'Cache-Control': 'public, no-cache', Link: `</revision/${revision}>; rel="compression-dictionary"`
  })]
]

for (const [what, headersOf] of CASES) {
  test(`Chromium decodes the next revision of a page by its dictionary: ${what}`, async (t) => {
    let revision = 1
    /** @type {string[]} */
    const codings = []
    const edge = await startEdge(t, ({ url = '' }, response) => {
      response.setHeader('Content-Type', 'text/html')
      const [, old] = /^\/revision\/(\d+)$/.exec(url) ?? []
      if (old) {
        response.writeHead(200, { 'Cache-Control': 'max-age=31536000', ...MARK }).end(documentOf(Number(old)))
      } else if (url === PAGE) {
        const headers = { 'CDN-Cache-Control': 'max-age=600', ...headersOf(revision) }
        response.writeHead(200, headers).end(documentOf(revision))
      } else {
        response.writeHead(404).end()
      }
    }, { compression: true, profile: 'cloudflare' })
    const host = `localhost:${edge.port}`
    const browser = await chromium.launch({ executablePath: requireTool('chromium').path, args: ['--no-sandbox'] })
    t.after(() => browser.close())
    const page = await (await browser.newContext()).newPage()
    page.on('response', (response) => {
      if (response.url().endsWith(PAGE)) codings.push(response.headers()['content-encoding'])
    })
    await page.goto(`http://${host}${PAGE}`)
    assert.match(await page.innerText('#text'), /^revision 1 /)
    // Chromium keeps a dictionary some time after it has shown the page.
    const decoded = await waitUntil(async () => {
      revision++
      await edge.purge({ files: [`http://${host}${PAGE}`] })
      await edge.get(PAGE, { host })
      await page.reload()
      assert.equal(await page.innerText('#text'), `revision ${revision} ${WORDS}`)
      return ['dcz', 'dcb'].includes(codings.at(-1) ?? '')
    }, WAIT_MAX_MS / 3)
    assert.ok(decoded, codings.join())
  })
}
