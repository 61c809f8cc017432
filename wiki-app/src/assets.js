import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** @import {FastifyPluginAsync} from 'fastify' */

const DAY_S = 86_400

/** @param {string[]} files  in assets/; several are joined under the name of the first @param {string} type */
function asset (files, type) {
  const bytes = Buffer.concat(files.map((file) => readFileSync(new URL(`assets/${file}`, import.meta.url))))
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  return { url: `/assets/${files[0].replace('.', `.${hash}.`)}`, type, bytes }
}

const style = asset(['style.css', 'markdown.css'], 'text/css; charset=utf-8')
const icon = asset(['icon.svg'], 'image/svg+xml')
const pageScript = asset(['page.js'], 'text/javascript; charset=utf-8')
const editorScript = asset(['editor.js'], 'text/javascript; charset=utf-8')

export const STYLE_URL = style.url
export const ICON_URL = icon.url
export const PAGE_SCRIPT_URL = pageScript.url
export const EDITOR_SCRIPT_URL = editorScript.url

/** URLs change with their content (RFC 8246). @type {FastifyPluginAsync} */
export async function assetRoutes (app) {
  const config = { database: false }
  for (const { url, type, bytes } of [style, icon, pageScript, editorScript]) {
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
