import { createServer } from 'node:http'
import express from 'express'
import { BODY_MAX_BYTES } from '../record.js'

/** @type {import('./index.js').Make} https://expressjs.com/en/5x/api.html */
export async function createExpress (answers) {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  const json = express.json({ limit: BODY_MAX_BYTES })
  app.get('/empty', (_, response) => { send(response, answers.empty('reads')) })
  app.post('/empty', json, (_, response) => { send(response, answers.empty('writes')) })
  app.post('/records', json, async (request, response) => {
    send(response, await answers.post(request.body))
  })
  app.get('/status/:id', (request, response) => { send(response, answers.status(request.params.id)) })
  app.get('/stats', (_, response) => { send(response, answers.stats()) })
  app.use((_, response) => { send(response, { status: 404, body: { error: 'not found' } }) })
  app.use(refuse)
  return createServer(app)
}

/**
 * @param {import('express').Response} response
 * @param {import('../answers.js').Answer} answer
 */
const send = (response, { status, headers = {}, body }) => { response.status(status).set(headers).json(body) }

/**
 * Express knows a handler of errors by its four parameters.
 * @param {any} error
 * @param {import('express').Request} _
 * @param {import('express').Response} response
 * @param {import('express').NextFunction} __
 */
function refuse (error, _, response, __) {
  const status = error.status >= 400 && error.status < 500 ? error.status : 500
  const said = status === 500 ? 'internal error' : 'the body is no JSON of at most 16 KiB'
  send(response, { status, body: { error: said } })
}
