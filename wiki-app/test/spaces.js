import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { sha256 } from '../src/access/users.js'
import { bearer, peopleOnly, USERS } from './people.js'

/** @typedef {import('fastify').FastifyInstance} App */

/** In the name, text, tag, author and summary of a private page. */
export const WORD = 'skrivnost'
const [{ password }] = USERS

/** @param {string} name @param {string} role */
export const user = (name, role) =>
  ({ name, role, password, tokens: [{ label: 'test', sha256: sha256(`stevec_${name}`) }] })

export const PEOPLE = [...USERS, user('teamreader', 'reader'), user('teameditor', 'reader'),
  user('teamadmin', 'editor'), user(`${WORD}er`, 'editor')]

/**
 * A wiki with these people, and its database.
 * @param {import('node:test').TestContext} t @param {ReturnType<typeof import('./helper.js').useWiki>} wiki
 * @param {Record<string, string>} [settings]
 */
export async function startWithPeople (t, wiki, settings = {}) {
  const { MONGODB_URI: uri = wiki.freshUri() } = settings
  const app = await wiki.build(t, { ...peopleOnly(t, { users: PEOPLE }), ...settings, MONGODB_URI: uri })
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  return { app, uri, db: client.db() }
}

/** @param {App} app @param {string} url @param {object} payload @param {string} [by] */
export const send = (app, url, payload, by = 'admin', method = 'POST') => app.inject({
  method: /** @type {'POST'} */ (method), url, payload, headers: { accept: 'application/json', ...bearer(by) }
})

/** @param {App} app @param {string} name @param {object} payload @param {string} [by] */
export const put = (app, name, payload, by = 'teameditor') =>
  send(app, `/api/v1/pages/${encodeURIComponent(name)}`, payload, by, 'PUT')

/**
 * As the editor does.
 * @param {App} app @param {string} page @param {Buffer | string} content
 * @param {{by?: string, alt?: string, name?: string, headers?: Record<string, string>}} [about]
 */
export async function upload (app, page, content, { by = 'teameditor', alt = '', name = 'a.png', headers } = {}) {
  const form = new FormData()
  form.append('alt', alt)
  form.append('file', new Blob([new Uint8Array(Buffer.from(content))]), name)
  // As browsers send it: with its length.
  const body = new Response(form)
  return app.inject({
    method: 'POST',
    url: `/edit/in/upload/${encodeURIComponent(page)}`,
    headers: {
      accept: 'application/json', 'content-type': String(body.headers.get('content-type')), ...headers ?? bearer(by)
    },
    payload: Buffer.from(await body.arrayBuffer())
  })
}

/** @param {App} app @param {string} name  of a space in which each team has its role */
export async function makeSpace (app, name) {
  const made = await send(app, '/edit/spaces', { name })
  assert.equal(made.statusCode, 201, made.body)
  for (const [group, role] of [['readers', 'reader'], ['editors', 'editor'], ['admins', 'admin']]) {
    await send(app, '/edit/groups', { name: group })
    for (const person of [`team${role}`, ...role === 'editor' ? [`${WORD}er`] : []]) {
      assert.equal((await send(app, '/edit/groups/add', { name: group, person })).statusCode, 204)
    }
    assert.equal((await send(app, '/edit/spaces/grant', { name, group, role })).statusCode, 204)
  }
}
