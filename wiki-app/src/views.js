import { readdirSync, readFileSync } from 'node:fs'
import { Eta } from 'eta'
import { ICON_URL, STYLE_URL } from './assets.js'

const DIRECTORY = new URL('views/', import.meta.url)

const eta = new Eta()
// Compiled here and now: a broken template stops the start, and no request waits for a disk.
for (const file of readdirSync(DIRECTORY)) {
  eta.loadTemplate(`@${file.replace('.eta', '')}`, readFileSync(new URL(file, DIRECTORY), 'utf8'))
}

/**
 * A whole HTML document. Everything in `data` is escaped by the template unless its name ends in `Html`.
 * @param {'page' | 'edit' | 'merge' | 'new' | 'list' | 'search' | 'tags' | 'history' | 'changes' | 'compare' | 'feed' | 'past' | 'error' | 'sign-in' | 'revert-author' | 'reverted-author'} view
 * @param {object} data
 * @returns {string}
 */
export const renderView = (view, data) => eta.render(`@${view}`, { ...data, styleUrl: STYLE_URL, iconUrl: ICON_URL })

/**
 * For text that is put into a view after it was rendered.
 * @param {string} text
 */
export const escapeHtml = (text) => eta.config.escapeFunction(text)

export const HTML = 'text/html; charset=utf-8'

/**
 * Whether a person reads the answer: browsers ask for text/html by name, programs seldom do.
 * @param {import('fastify').FastifyRequest} request
 */
export const wantsHtml = (request) => request.headers.accept?.includes('text/html') ?? false
