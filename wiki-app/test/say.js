import { BROWSER } from './helper.js'

/**
 * Says something on a talk page, as a browser does.
 * @param {import('fastify').FastifyInstance} app @param {Record<string, string>} fields
 */
export const say = (app, fields, { name = 'Talk:a', headers = {} } = {}) => app.inject({
  method: 'POST',
  url: `/edit/topic/${encodeURIComponent(name)}`,
  headers: {
    ...BROWSER, 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', ...headers
  },
  payload: new URLSearchParams(fields).toString()
})
