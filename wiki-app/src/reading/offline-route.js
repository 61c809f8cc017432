import { readFileSync } from 'node:fs'
import { translated } from '../assets.js'
import { OFFLINE_URL, site } from '../site/site.js'

/** Browsers ask for it once within that time. A worker that is switched off goes as soon. */
const MAX_AGE_S = 86_400

/** @param {string} file  in assets/ */
const read = (file) => readFileSync(new URL(`../assets/${file}`, import.meta.url), 'utf8')

/**
 * The service worker that keeps pages for reading offline, or one that ends it. Always at one address.
 * @type {import('fastify').FastifyPluginAsync}
 */
export async function offlineRoute (app) {
  const { assets: { urls }, language, offlineUrl } = site()
  const text = offlineUrl === undefined
    ? read('offline-end.js')
    : translated(read('offline.js'))
      .replace('./style.css', urls.styleUrl)
      .replace('./page.js', urls.pageScriptUrl)
      .replace("LANGUAGE = 'en'", `LANGUAGE = '${language}'`)
  app.get(OFFLINE_URL, { config: { database: false, forStrangers: true } }, async (_request, reply) =>
    reply.header('cache-control', `public, max-age=${MAX_AGE_S}`).type('text/javascript; charset=utf-8').send(text))
}
