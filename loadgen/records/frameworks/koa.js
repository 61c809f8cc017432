import { createServer } from 'node:http'
import { bodyParser } from '@koa/bodyparser'
import Koa from 'koa'
import { BODY_MAX_BYTES } from '../record.js'

/** @typedef {import('../answers.js').Answer} Answer */

/** @type {import('./index.js').Make} https://koajs.com */
export async function createKoa (answers) {
  const app = new Koa()
  app.silent = true
  app.use(refuse)
  app.use(bodyParser({ enableTypes: ['json'], jsonLimit: BODY_MAX_BYTES, encoding: 'utf-8' }))
  app.use(async (context) => { send(context, await answerOf(answers, context)) })
  return createServer(app.callback())
}

/**
 * Koa has no router of its own.
 * @param {import('../answers.js').Answers} answers
 * @param {import('koa').Context} context
 * @returns {Promise<Answer> | Answer}
 */
function answerOf (answers, { method, path, request }) {
  if (method === 'POST' && path === '/records') {
    // The parser leaves another type unread, with an empty object as the body.
    return answers.post(request.rawBody === undefined ? undefined : request.body)
  }
  if (method === 'POST' && path === '/empty') return answers.empty('writes')
  if (method === 'GET' && path === '/empty') return answers.empty('reads')
  if (method === 'GET' && path.startsWith('/status/')) return answers.status(path.slice('/status/'.length))
  if (method === 'GET' && path === '/stats') return answers.stats()
  return { status: 404, body: { error: 'not found' } }
}

/**
 * @param {import('koa').Context} context
 * @param {Answer} answer
 */
function send (context, { status, headers = {}, body }) {
  context.status = status
  context.set(headers)
  context.body = body
}

/** @param {import('koa').Context} context @param {() => Promise<void>} next */
async function refuse (context, next) {
  try {
    await next()
  } catch (error) {
    const { status: found } = /** @type {{status?: number}} */ (error)
    const status = found !== undefined && found >= 400 && found < 500 ? found : 500
    const text = status === 500 ? 'internal error' : 'the body is no JSON of at most 16 KiB'
    send(context, { status, body: { error: text } })
  }
}
