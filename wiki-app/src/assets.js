import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { say } from './language.js'
import { LOGO_POLICY } from './site/logo.js'
import { site } from './site/site.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {Logo} from './site/logo.js' */

const DAY_S = 86_400
const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'
/** Made by bin/codemirror.js. It has no texts of the wiki's. */
const BUNDLE = 'codemirror.js'

/** @typedef {{url: string, type: string, bytes: Buffer}} Asset */

/** @param {string} file */
const read = (file) => readFileSync(new URL(`assets/${file}`, import.meta.url), 'utf8')

/** Comments and spaces are for the source. @param {string} file  in assets/ */
const readStyle = (file) => read(file)
  .replace(/\/\*[^]*?\*\//g, '')
  .replace(/\s+/g, ' ')
  .replace(/ ?([{};,]) ?/g, '$1')
  .replace(/([\w-]): /g, '$1:')
  .replaceAll(';}', '}')

/** Types and whole lines of comments are for the source, too. @param {string} script */
const withoutComments = (script) => script.replace(/\/\*\*[^]*?\*\/\s*/g, '').replace(/^\s*\/\/.*\n/gm, '')

/** @param {string} file @param {string} type @param {string | Buffer} bytes @returns {Asset} */
function hashed (file, type, bytes) {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  return { url: `/assets/${file.replace('.', `.${hash}.`)}`, type, bytes: Buffer.from(bytes) }
}

/** The wiki's own icon is drawn by the style sheet. */
const LOGO_STYLE = '.home::before{content:none}.home img{width:auto;max-width:10rem;height:1.75rem}\n'

/**
 * As this wiki presents itself: scripts get their texts here, in its language.
 * @param {{logo?: Logo, style?: string}} look  `style`: behind the style sheet
 */
export function createAssets ({ logo, style = '' }) {
  const modules = createModules()
  const all = {
    style: hashed('style.css', STYLE,
      readStyle('style.css') + readStyle('markdown.css') + (logo ? LOGO_STYLE : '') + style),
    icon: logo
      ? hashed(`logo.${logo.extension}`, logo.type, logo.bytes)
      : hashed('icon.svg', 'image/svg+xml', read('icon.svg')),
    apiStyle: hashed('api.css', STYLE, readStyle('api.css')),
    formsStyle: hashed('forms.css', STYLE, readStyle('forms.css')),
    editorStyle: hashed('editor.css', STYLE, readStyle('editor.css')),
    pageScript: modules.of('page.js'),
    authorScript: modules.of('author.js'),
    apiScript: modules.of('api.js'),
    copyScript: modules.of('copy.js'),
    editorScript: modules.of('editor.js')
  }
  return {
    urls: {
      styleUrl: all.style.url,
      iconUrl: all.icon.url,
      iconType: all.icon.type,
      apiStyleUrl: all.apiStyle.url,
      formsStyleUrl: all.formsStyle.url,
      editorStyleUrl: all.editorStyle.url,
      pageScriptUrl: all.pageScript.url,
      authorScriptUrl: all.authorScript.url,
      apiScriptUrl: all.apiScript.url,
      copyScriptUrl: all.copyScript.url,
      editorScriptUrl: all.editorScript.url
    },
    icon: all.icon,
    served: [...new Set([...Object.values(all), ...modules.all()])]
  }
}

/** @typedef {ReturnType<typeof createAssets>} Assets */

/** A module names those that it imports by their URLs. */
function createModules () {
  /** @type {Map<string, Asset>} */
  const made = new Map()

  /** With the modules that it imports. @param {string} file  in assets/ @returns {Asset} */
  function of (file) {
    if (file === BUNDLE) return put(file, read(file))
    const linked = withoutComments(read(file))
      .replace(/^(.*\bimport\(|import .*)'\.\/([\w-]+\.js)'/gm, (_, start, imported) => `${start}'${of(imported).url}'`)
    return put(file, translated(linked))
  }

  /** @param {string} file @param {string} script */
  function put (file, script) {
    const module = made.get(file) ?? hashed(file, SCRIPT, script)
    made.set(file, module)
    return module
  }

  return { of, all: () => made.values() }
}

/** `t('…')` of a script becomes the text itself. @param {string} script */
export const translated = (script) => script.replace(/\bt\('((?:[^'\\\n]|\\.)*)'\)/g, (_, text) =>
  `'${say(text).replace(/[\\']/g, '\\$&')}'`)

/** URLs change with their content (RFC 8246). @type {FastifyPluginAsync} */
export async function assetRoutes (app) {
  const config = { database: false, forStrangers: true }
  const { logoUrl, assets: { icon, served } } = site()
  for (const { url, type, bytes } of served) {
    app.get(url, { config }, async (_request, reply) => {
      if (url === logoUrl) reply.header('content-security-policy', LOGO_POLICY)
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type)
      return bytes
    })
  }

  // Browsers request it although no page names it.
  app.get('/favicon.ico', { config }, async (_request, reply) => {
    if (logoUrl) reply.header('content-security-policy', LOGO_POLICY)
    reply.header('cache-control', `public, max-age=${DAY_S}`).type(icon.type)
    return icon.bytes
  })
}
