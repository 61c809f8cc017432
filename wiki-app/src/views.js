import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { Eta } from 'eta'
import { mayWrite } from './access/roles.js'
import { createHtmlText, createTag, t } from './language.js'
import { site } from './site/site.js'

/** @import {Person} from './access/access.js' */
/** @import {AccessMode} from './access/roles.js' */

const DIRECTORY = new URL('views/', import.meta.url)

// In all templates: Eta escapes `<%= t('…') %>`; `<%~ html('…', values, { a: tag('a', { href }) }) %>` escapes
// its values.
const eta = new Eta({ functionHeader: 'const { t, html, tag } = this.texts' })
const escape = (/** @type {unknown} */ text) => eta.config.escapeFunction(text)
export const htmlText = createHtmlText(escape)
export const tag = createTag(escape)
Object.assign(eta, { texts: { t, html: htmlText, tag } })
// At load: a broken template stops the start, and no request waits for a disk.
for (const file of readdirSync(DIRECTORY)) {
  eta.loadTemplate(`@${file.replace('.eta', '')}`, readFileSync(new URL(file, DIRECTORY), 'utf8'))
}

/**
 * @typedef {'page' | 'edit' | 'preview' | 'files' | 'merge' | 'new' | 'list' | 'search' | 'tags' | 'history' |
 *   'changes' | 'compare' | 'feed' | 'past' | 'error' | 'home' | 'missing' | 'sign-in' | 'signed-in' | 'rename' |
 *   'authors' | 'delete' | 'revert' | 'resend' | 'picture' | 'revert-author' | 'reverted-author' |
 *   'import' | 'imported' | 'import-report' | 'api' | 'status' | 'short-link' | 'topic' | 'watching' | 'watch' |
 *   'digest-link' | 'forgotten' | 'sitemap' | 'sitemap-index' | 'care' | 'people' | 'member' | 'member-link' |
 *   'in-space' | 'space-pages' | 'space-changes' | 'space-search' | 'spaces' | 'groups' | 'proposal' | 'proposals' |
 *   'invitation' | 'account' | 'audit' | 'tree' | 'onward' | 'erase' | 'erased' | 'protection'} View
 */

/**
 * For whom a document is. It decides what is shown, never what is allowed. `person`: while everybody reads, known below
 * /edit/ alone.
 * @typedef {{mode: AccessMode, person: Person | null}} Reader
 */

/**
 * Templates escape `data`, except what is named `…Html`.
 * @param {View} view @param {object} data @param {Reader} reader
 */
export const renderView = (view, data, { mode, person }) => eta.render(`@${view}`, {
  ...data,
  view,
  mode,
  person,
  mayWrite: mayWrite(mode, person),
  site: site(),
  ...site().assets.urls
})

/** @param {import('fastify').FastifyRequest} request @param {View} view @param {object} data  as for `renderView` */
export const renderFor = (request, view, data) =>
  renderView(view, { ...data, space: /** @type {any} */ (request).space?._id }, readerOf(request))

/** @param {import('fastify').FastifyRequest} request @returns {Reader} */
export const readerOf = (request) => ({
  mode: request.server.getDecorator('accessMode'),
  // The request of a malformed URL has no decorators.
  person: /** @type {{person?: Person | null}} */ (request).person ?? null
})

/** For no browser of the wiki. @param {'digest-mail'} view @param {object} data  as for `renderView` */
export const renderMail = (view, data) => eta.render(`@${view}`, { ...data, site: site() })

/** @param {string} text */
export const escapeHtml = (text) => eta.config.escapeFunction(text)

const ESCAPED_AT_ONCE_CHARS = 65_536

/** Other requests run between its pieces. @param {string} text */
export async function escapeLong (text) {
  let escaped = escapeHtml(text.slice(0, ESCAPED_AT_ONCE_CHARS))
  for (let at = ESCAPED_AT_ONCE_CHARS; at < text.length; at += ESCAPED_AT_ONCE_CHARS) {
    await setImmediate()
    escaped += escapeHtml(text.slice(at, at + ESCAPED_AT_ONCE_CHARS))
  }
  return escaped
}

export const HTML = 'text/html; charset=utf-8'

/** For programs, whatever the client accepts. */
export const API_PREFIX = '/api/v1'

/** Browsers ask for text/html by name. @param {import('fastify').FastifyRequest} request */
export const wantsHtml = ({ headers, url }) =>
  !url.startsWith(`${API_PREFIX}/`) && (headers.accept?.includes('text/html') ?? false)
