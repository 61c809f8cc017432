import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { hashPassword } from '../src/access/password.js'
import { sha256 } from '../src/access/users.js'
import { BROWSER } from './helper.js'

/** The lowest cost that is allowed, so that tests are fast. */
const COST = { ln: 14, r: 8, p: 1 }

export const PASSWORD = 'correct horse'
const password = await hashPassword(PASSWORD, COST)

/**
 * The users of the tests are named after their roles.
 * @typedef {'reader' | 'editor' | 'admin'} Role
 */
export const ROLES = /** @type {Role[]} */ (['reader', 'editor', 'admin'])

/** @param {string} name */
export const tokenOf = (name) => `stevec_${name}`

/** @param {string} name */
export const bearer = (name) => ({ authorization: `Bearer ${tokenOf(name)}` })

export const USERS = ROLES.map((role) => ({
  name: role,
  role,
  password,
  tokens: [{ label: 'test', sha256: sha256(tokenOf(role)) }]
}))

/**
 * Writes a users' file, which is removed at the end of its test.
 * @param {import('node:test').TestContext} t
 * @param {unknown} [content]  text, or a value that is written as JSON
 * @param {number} [mode]
 */
export function usersFile (t, content = { users: USERS }, mode = 0o600) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-users-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = path.join(directory, 'users.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode })
  return file
}

/**
 * Returns the settings of a wiki in which only these users may write.
 * @param {import('node:test').TestContext} t
 * @param {unknown} [content]
 */
export const peopleOnly = (t, content) => ({ ACCESS: 'users', USERS_FILE: usersFile(t, content) })

/** With them, a wiki has all its routes. Nothing listens there. */
export const MAIL = {
  SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'wiki@wiki.example', PUBLIC_URL: 'http://wiki.example'
}

/**
 * Submits a form as a browser does.
 * @param {import('fastify').FastifyInstance} app
 * @param {string} url
 * @param {Record<string, string>} fields
 * @param {Record<string, string>} [headers]
 * @param {string} [remoteAddress]
 */
export const post = (app, url, fields, headers = {}, remoteAddress = '127.0.0.1') => app.inject({
  method: 'POST',
  url,
  remoteAddress,
  headers: {
    ...BROWSER,
    'content-type': 'application/x-www-form-urlencoded',
    'sec-fetch-site': 'same-origin',
    ...headers
  },
  payload: new URLSearchParams(fields).toString()
})

/**
 * Signs in and returns the header that the browser sends below /edit from then on.
 * @param {import('fastify').FastifyInstance} app
 * @param {string} name
 */
export async function cookieOf (app, name) {
  const { headers } = await post(app, '/edit/sign-in', { name, password: PASSWORD })
  return { cookie: String(headers['set-cookie']).split(';', 1)[0] }
}
