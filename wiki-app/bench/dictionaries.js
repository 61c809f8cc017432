// What the next revision of a page takes by each coding of the edge: node wiki-app/bench/dictionaries.js
// The wiki's renderer and document, a real edge, and edits of nginx/README.md by a seeded random.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createRandom } from '@stevec/harness/random'
import { startEdge } from '@stevec/nginx/test/edge-helper'
import { createRenderer } from '../src/markdown/renderer.js'
import { pageDocument } from '../src/reading/document.js'

const URL_OF_PAGE = '/wiki/Edge'
const CODINGS = ['identity', 'gzip', 'zstd', 'br', 'dcz', 'dcb']
const MAX_BYTES = 1024 ** 2
const HOUR_MS = 3_600_000
const FIRST_DAY_MS = Date.UTC(2026, 0, 1)

const { values } = parseArgs({
  options: { revisions: { type: 'string', default: '77' }, seed: { type: 'string', default: '9842' } }
})
const random = createRandom(Number(values.seed))
/** @param {number} below */
const draw = (below) => Math.floor(random() * below)

/** Replaces, adds or removes a few words in one line. @param {string} text */
function edited (text) {
  const lines = text.split('\n')
  const at = draw(lines.length)
  const words = lines[at].split(' ')
  const all = text.split(/\s+/)
  const added = Array.from({ length: 1 + draw(12) }, () => all[draw(all.length)].replace(/[^a-z]/gi, '')).join(' ')
  words.splice(draw(words.length), draw(3), added)
  lines[at] = words.join(' ')
  return lines.join('\n')
}

const renderer = createRenderer({ maxBytes: MAX_BYTES })

/** @param {string} markdown @param {number} revision */
async function documentOf (markdown, revision) {
  const { html, contentBytes } = await renderer.render(markdown)
  return pageDocument(/** @type {any} */ ({
    _id: 'Edge',
    html: Buffer.from(html),
    subpages: { names: [], missing: [], more: false },
    tags: [],
    revision,
    modified_at: new Date(FIRST_DAY_MS + revision * HOUR_MS),
    content_bytes: contentBytes
  }), { mode: 'open', person: null })
}

/** @type {Buffer} */
let document = Buffer.alloc(0)
const edge = await startEdge(null, (_request, response) => {
  response.writeHead(200, {
    'Content-Type': 'text/html', 'Cache-Control': 'max-age=600', 'Use-As-Dictionary': `match="${URL_OF_PAGE}"`
  }).end(document)
}, { compression: true })
/** @type {Map<string, number[]>} */
const sizes = new Map(CODINGS.map((coding) => [coding, []]))
try {
  let markdown = readFileSync(new URL('../../nginx/README.md', import.meta.url), 'utf8')
  document = await documentOf(markdown, 1)
  await edge.get(URL_OF_PAGE)
  for (let revision = 2; revision <= Number(values.revisions); revision++) {
    const available = `:${createHash('sha256').update(document).digest('base64')}:`
    markdown = edited(markdown)
    document = await documentOf(markdown, revision)
    await edge.purge({ files: [`http://${edge.host}${URL_OF_PAGE}`] })
    await edge.get(URL_OF_PAGE)
    for (const coding of CODINGS) {
      const answer = await edge.get(URL_OF_PAGE, { 'accept-encoding': coding, 'available-dictionary': available })
      if ((answer.headers['content-encoding'] ?? 'identity') === coding) sizes.get(coding)?.push(answer.body.length)
    }
  }
  process.stdout.write(`| coding | median bytes | revisions |\n|---|---|---|\n${[...sizes].map(([coding, all]) =>
    `| ${coding} | ${all.sort((a, b) => a - b)[all.length >> 1] ?? 'not in this libbrotli'} | ${all.length} |\n`).join('')}`)
} finally {
  await edge.stop()
  await renderer.close()
}
