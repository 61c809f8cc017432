import assert from 'node:assert/strict'
import { bearer, cookieOf, post } from './people.js'

/** @typedef {import('fastify').FastifyInstance} App */

/** One word, as passwords are. */
export const SECRET = 'hunter2zebraquartz'

/** @param {App} app @param {string} name @param {object} payload @param {string} [by] */
export async function put (app, name, payload, by = 'editor') {
  const url = `/api/v1/pages/${encodeURIComponent(name)}`
  const answer = await app.inject({ method: 'PUT', url, headers: bearer(by), payload })
  assert.ok(answer.statusCode < 300, answer.body)
  return answer.json().revision
}

/** @param {App} app @param {string} name @param {object} [asked] @param {string} [by] */
export const erase = (app, name, asked, by = 'admin') => app.inject({
  method: 'POST',
  url: `/edit/erase/${encodeURIComponent(name)}`,
  headers: bearer(by),
  payload: { confirm: name, reason: 'a password', ...asked }
})

/** @param {App} app @param {string} name @param {string} to @param {string} summary */
export async function rename (app, name, to, summary) {
  const url = `/api/v1/pages/${name}/rename`
  const answer = await app.inject({ method: 'POST', url, headers: bearer('editor'), payload: { to, summary } })
  assert.equal(answer.statusCode, 201, answer.body)
}

/** @param {App} app @param {string} name @param {string} summary */
export async function remove (app, name, summary) {
  assert.equal((await post(app, `/edit/delete/${name}`, { summary }, await cookieOf(app, 'editor'))).statusCode, 303)
}

/** The secret comes in revision 2, moves along with the page in 4, and goes in 5. @param {App} app */
export async function leak (app) {
  const watch = { method: /** @type {const} */ ('PUT'), headers: bearer('admin') }
  for (const name of ['Manual', 'Leak', 'Handbook']) {
    await app.inject({ ...watch, url: `/api/v1/watching/pages/${name}` })
  }
  await put(app, 'Handbook', { content: 'How to sign in.' })
  const content = `How to sign in: ${SECRET}`
  await put(app, 'Handbook', { content, summary: `say ${SECRET}`, tags: [SECRET] })
  await put(app, 'Handbook', { content: `${content}\n\nmore`, tags: [] })
  await rename(app, 'Handbook', 'Manual', `as ${SECRET}`)
  await put(app, 'Manual', { content: 'How to sign in.\n\nmore', summary: 'without it' })
  await put(app, 'Leak', { content: SECRET })
  await remove(app, 'Leak', `had ${SECRET}`)
}

/** @param {App} app */
export async function eraseAll (app) {
  const answers = [await erase(app, 'Manual', { from: 2, to: 4 }), await erase(app, 'Leak', { from: 1, to: 2 })]
  assert.deepEqual(answers.map((answer) => answer.json()),
    [{ name: 'Manual', from: 2, to: 4, erased: 3 }, { name: 'Leak', from: 1, to: 2, erased: 2 }])
}
