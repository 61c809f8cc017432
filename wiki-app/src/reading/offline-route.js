import { readFileSync } from 'node:fs'
import { PAGE_SCRIPT_URL, STYLE_URL } from '../assets.js'

/** Its folder is the scope of the worker: all of the wiki. */
export const OFFLINE_URL = '/offline.js'
/** Browsers ask for it once within that time. A worker that is switched off goes as soon. */
const MAX_AGE_S = 86_400

/** @param {string} file  in assets/ */
const read = (file) => readFileSync(new URL(`../assets/${file}`, import.meta.url), 'utf8')

/** @param {Pick<import('../settings.js').Config, 'OFFLINE_READING' | 'READ_ACCESS'>} config */
export const keepsOffline = ({ OFFLINE_READING: reading, READ_ACCESS: readers }) =>
  reading === 'on' && readers === 'everyone'

/**
 * The service worker that keeps pages for reading offline, or one that ends it.
 * @type {import('fastify').FastifyPluginAsync<{keeps: boolean}>}
 */
export async function offlineRoute (app, { keeps }) {
  const text = keeps
    ? read('offline.js').replace('./style.css', STYLE_URL).replace('./page.js', PAGE_SCRIPT_URL)
    : read('offline-end.js')
  app.get(OFFLINE_URL, { config: { database: false, forStrangers: true } }, async (_request, reply) =>
    reply.header('cache-control', `public, max-age=${MAX_AGE_S}`).type('text/javascript; charset=utf-8').send(text))
}
