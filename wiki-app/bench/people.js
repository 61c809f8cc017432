import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { hashPassword } from '../src/access/password.js'
import { sha256 } from '../src/access/users.js'

/** The collection of author-lookup-wiki.js. */
export const PEOPLE = 'people'
export const AUTHOR = 'Ana Novak'
const PASSWORD = 'correct horse battery'
const TOKEN = 'stevec_benchmark'

export const BEARER = { authorization: `Bearer ${TOKEN}` }

/** @param {string} directory @returns {Promise<Record<string, string>>} settings of a wiki with one author */
export async function peopleIn (directory) {
  const file = path.join(directory, 'users.json')
  const user = {
    name: AUTHOR,
    role: 'editor',
    password: await hashPassword(PASSWORD),
    tokens: [{ label: 'benchmark', sha256: sha256(TOKEN) }]
  }
  writeFileSync(file, JSON.stringify({ users: [user] }), { mode: 0o600 })
  return { ACCESS: 'users', USERS_FILE: file }
}

/** @param {string} url  of a wiki @returns {Promise<{cookie: string}>} of the author, signed in */
export async function signIn (url) {
  const answer = await fetch(`${url}/edit/sign-in`, {
    method: 'POST', redirect: 'manual', body: new URLSearchParams({ name: AUTHOR, password: PASSWORD })
  })
  const cookie = answer.headers.getSetCookie().find((each) => each.startsWith('session='))
  if (cookie === undefined) throw new Error(`the sign-in was answered ${answer.status} without a session`)
  return { cookie: cookie.split(';', 1)[0] }
}
