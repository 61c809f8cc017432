import { setImmediate as nextTurn } from 'node:timers/promises'
import createError from '@fastify/error'
import fp from 'fastify-plugin'
import { readForm } from '../writing/form.js'
import { createKeyedMutex } from '../process/keyed-mutex.js'

const UnknownType = createError(
  'WIKI_UNKNOWN_TYPE',
  'Send the text as text/markdown, as JSON {"content": "…"}, or as a form with the field “content”.',
  415
)
const NotUtf8 = createError('WIKI_NOT_UTF8', 'The text is not valid UTF-8.', 400)

/** One at a time, so that other requests run in between. */
const LONG_FORM_BYTES = 65_536

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * For an empty body the route says what it expects.
 * @param {import('fastify').FastifyInstance} app @returns {import('fastify').FastifyBodyParser<string>}
 */
export function jsonParser (app) {
  const parse = app.getDefaultJsonParser('error', 'error')
  return (request, body, done) => body === '' ? done(null, undefined) : parse(request, body, done)
}

/** Not text/plain: any site can make a browser send it. */
export const contentParsers = fp(
  /** @type {import('fastify').FastifyPluginAsync<{maxBytes: number}>} */
  async function contentParsers (app, { maxBytes }) {
    app.removeContentTypeParser(['text/plain', 'application/json'])
    app.addContentTypeParser('application/json', { parseAs: 'string' }, jsonParser(app))
    app.addContentTypeParser('*', async () => { throw new UnknownType() })
    // Unencoded, so the limit is the page's own.
    app.addContentTypeParser(
      'text/markdown',
      { parseAs: 'buffer', bodyLimit: maxBytes },
      async (/** @type {unknown} */ _request, /** @type {Buffer} */ body) => {
        try {
          return { content: utf8.decode(body) }
        } catch {
          throw new NotUtf8()
        }
      }
    )
    const runExclusive = createKeyedMutex()
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'buffer' },
      async (/** @type {unknown} */ _request, /** @type {Buffer} */ body) =>
        body.length <= LONG_FORM_BYTES ? readForm(body) : runExclusive('long', () => nextTurn().then(() => readForm(body)))
    )
  })
