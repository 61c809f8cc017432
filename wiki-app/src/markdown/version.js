import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { hashOf } from '../hash.js'

const require = createRequire(import.meta.url)
const ownSource = readdirSync(new URL('.', import.meta.url)).sort().map((file) => new URL(file, import.meta.url))
const versions = ['markdown-it', 'highlight.js', 'sanitize-html'].map((library) => require(`${library}/package.json`).version)

/** Changes whenever the HTML of the same Markdown could change. Unicode's says what a letter is. */
export const RENDERER_VERSION = hashOf(
  ...[...ownSource, new URL('../pages/name.js', import.meta.url)].map((file) => readFileSync(file)),
  [...versions, process.versions.unicode].join()
)
