// Private spaces: parts of a public wiki that groups alone read.
import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { BROWSER, get, save, useWiki } from './helper.js'
import { bearer, cookieOf, MAIL, peopleOnly, post, USERS } from './people.js'
import { sha256 } from '../src/access/users.js'

/** @typedef {import('fastify').FastifyInstance} App */

const wiki = useWiki()
/** In the name, text, tag, author and summary of a private page. */
const WORD = 'skrivnost'
const [{ password }] = USERS

/** @param {string} name @param {string} role */
const user = (name, role) =>
  ({ name, role, password, tokens: [{ label: 'test', sha256: sha256(`stevec_${name}`) }] })

const PEOPLE = [...USERS, user('teamreader', 'reader'), user('teameditor', 'reader'), user('teamadmin', 'editor'),
  user(`${WORD}er`, 'editor')]

/** @param {App} app @param {string} url @param {object} payload @param {string} [by] */
const send = (app, url, payload, by = 'admin', method = 'POST') => app.inject({
  method: /** @type {'POST'} */ (method), url, payload, headers: { accept: 'application/json', ...bearer(by) }
})

/** @param {App} app @param {string} name @param {object} payload @param {string} [by] */
const put = (app, name, payload, by = 'teameditor') =>
  send(app, `/api/v1/pages/${encodeURIComponent(name)}`, payload, by, 'PUT')

/** @param {import('node:test').TestContext} t @param {Record<string, string>} [settings] */
async function start (t, settings = {}) {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { ...peopleOnly(t, { users: PEOPLE }), MONGODB_URI: uri, ...settings })
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  return { app, db: client.db() }
}

/** @param {App} app @param {string} name  of a space in which each team has its role */
async function makeSpace (app, name) {
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

test('smoke', async (t) => {
  const { app } = await start(t)
  await makeSpace(app, 'Team')
  const saved = await put(app, 'Team/a', { content: `${WORD} [[Team/b]] [[Public]]` })
  assert.equal(saved.statusCode, 201, saved.body)
  const r = await get(app, '/wiki/Team/a', BROWSER)
  console.log(r.statusCode, r.headers)
  const cookie = await cookieOf(app, 'teamreader')
  const p = await get(app, '/edit/in/wiki/Team/a', { ...BROWSER, ...cookie })
  console.log(p.statusCode, p.headers, p.body)
  for (const u of ['/edit/in/history/Team/a', '/edit/in/pages?space=Team', '/edit/in/changes?space=Team', '/edit/spaces', '/edit/in/raw/Team/a', '/edit/in/revision/Team/a/1', '/edit/in/tree/Team', '/edit/in/links/Team/b']) {
    const x = await get(app, u, { ...BROWSER, ...cookie })
    console.log(u, x.statusCode, x.headers['cache-control'], x.body.slice(0, 60), x.body.includes('Team/a'))
  }
})
