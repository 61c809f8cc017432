import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** @import {FastifyPluginAsync} from 'fastify' */

const DAY_S = 86_400
const SCRIPT = 'text/javascript; charset=utf-8'

/** @param {string[]} files  in assets/; several are joined under the name of the first @param {string} type */
const asset = (files, type) =>
  hashed(files[0], type, Buffer.concat(files.map((file) => readFileSync(new URL(`assets/${file}`, import.meta.url)))))

/** @param {string} file @param {string} type @param {Buffer} bytes */
function hashed (file, type, bytes) {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  return { url: `/assets/${file.replace('.', `.${hash}.`)}`, type, bytes }
}

/** @type {Map<string, ReturnType<typeof asset>>} */
const modules = new Map()

/**
 * With the modules that it imports: it names them by their URLs.
 * @param {string} file  in assets/ @returns {ReturnType<typeof asset>}
 */
function moduleOf (file) {
  const text = readFileSync(new URL(`assets/${file}`, import.meta.url), 'utf8')
  const linked = text.replace(/^(.*\bimport\(|import .*)'\.\/([\w-]+\.js)'/gm,
    (_, start, imported) => `${start}'${moduleOf(imported).url}'`)
  const module = modules.get(file) ?? hashed(file, SCRIPT, Buffer.from(linked))
  modules.set(file, module)
  return module
}

const style = asset(['style.css', 'markdown.css'], 'text/css; charset=utf-8')
const apiStyle = asset(['api.css'], 'text/css; charset=utf-8')
const icon = asset(['icon.svg'], 'image/svg+xml')
const pageScript = moduleOf('page.js')
const editorStyle = asset(['editor.css'], 'text/css; charset=utf-8')
const authorScript = asset(['author.js'], SCRIPT)
const apiScript = asset(['api.js'], SCRIPT)
const copyScript = asset(['copy.js'], SCRIPT)
const editorScript = moduleOf('editor.js')

export const STYLE_URL = style.url
export const ICON_URL = icon.url
export const PAGE_SCRIPT_URL = pageScript.url
export const AUTHOR_SCRIPT_URL = authorScript.url
export const API_SCRIPT_URL = apiScript.url
export const COPY_SCRIPT_URL = copyScript.url
export const API_STYLE_URL = apiStyle.url
export const EDITOR_STYLE_URL = editorStyle.url
export const EDITOR_SCRIPT_URL = editorScript.url

/** URLs change with their content (RFC 8246). @type {FastifyPluginAsync} */
export async function assetRoutes (app) {
  const config = { database: false, forStrangers: true }
  const others = [style, icon, editorStyle, authorScript, apiScript, apiStyle, copyScript]
  for (const { url, type, bytes } of [...others, ...modules.values()]) {
    app.get(url, { config }, async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type)
      return bytes
    })
  }

  // Browsers request it although no page names it.
  app.get('/favicon.ico', { config }, async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${DAY_S}`).type(icon.type)
    return icon.bytes
  })
}
