import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import test from 'node:test'
import { hashOf } from '../src/http/hash.js'
import { RENDERER_VERSION, SOURCE_HASHES } from '../src/markdown/version.js'

const require = createRequire(import.meta.url)
const MARKDOWN = new URL('../src/markdown/', import.meta.url)
/** Files that do not render texts. */
const OTHER_FILES = new Set(['missing.js', 'renderer.js', 'title.js', 'version.js'])
const LIBRARIES = ['markdown-it', 'highlight.js', 'sanitize-html', 'katex']

test('the last hash in SOURCE_HASHES matches the sources and libraries of the renderer', () => {
  const names = readdirSync(MARKDOWN).filter((name) => !OTHER_FILES.has(name)).sort()
  const sources = [...names, '../pages/name.js'].map((name) => readFileSync(new URL(name, MARKDOWN)))
  const libraries = LIBRARIES.map((name) => `${name} ${require(`${name}/package.json`).version}`)
  // Its package does not export its package.json.
  libraries.push(readFileSync(new URL('../package.json', import.meta.resolve('beautiful-mermaid')), 'utf8'))
  libraries.push(`elkjs ${require('elkjs/package.json').version}`)
  const hash = hashOf(...sources, libraries.join())
  assert.equal(SOURCE_HASHES.at(-1), hash, 'The sources of the renderer, or its libraries, have changed. If any HTML ' +
    `may change, add '${hash}' at the end of SOURCE_HASHES in src/markdown/version.js; otherwise replace the last.`)
  assert.equal(RENDERER_VERSION, new Set(SOURCE_HASHES).size, 'SOURCE_HASHES has no duplicates')
})
