import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { ConfigError } from '../config-error.js'
import { hiddenIn } from '../pages/visible.js'
import { isPasswordHash } from './password.js'
import { ROLES } from './roles.js'

/**
 * @typedef {object} User  also an entry of the users' file
 * @property {string} name  what the history shows
 * @property {import('./roles.js').Role} role
 * @property {string} password  a hash from `hashPassword`; '' for people with OpenID Connect alone
 * @property {{label: string, sha256: string}[]} [tokens]  for programs
 */

const FILE_MAX_BYTES = 4_194_304
export const NAME_MAX_CHARS = 80
export const TOKENS_MAX = 20
const LABEL_MAX_CHARS = 80
export const LINE_RULE = `a line of 1 to ${NAME_MAX_CHARS} characters without blanks around it or invisible ones in it`
const OTHERS_MAY = 0o006

/** @param {string} text  with high entropy, so that one round is enough */
export const sha256 = (text) => createHash('sha256').update(text).digest('hex')

/** Names that differ in case alone are one. @param {string} name */
export const userKey = (name) => name.normalize('NFC').trim().toLowerCase()

/**
 * @param {string} file
 * @throws {ConfigError} of one line
 */
export function readUsers (file) {
  const users = parseUsers(file)
  const byKey = new Map(users.map((user) => [userKey(user.name), user]))
  const byToken = new Map(users.flatMap((user) =>
    (user.tokens ?? []).map(({ sha256 }) => /** @type {const} */ ([sha256, user]))))

  return {
    names: users.map(({ name }) => name),

    /** @param {string} name */
    find: (name) => byKey.get(userKey(name)) ?? null,

    /** By hash, so that the time it takes reveals nothing about the token. @param {string} token */
    byToken: (token) => byToken.get(sha256(token)) ?? null,

    /** To be checked for an unknown name, so that the response takes as long. @param {string} name */
    decoyFor: (name) => users[Number.parseInt(sha256(userKey(name)).slice(0, 8), 16) % users.length].password
  }
}

/** @typedef {ReturnType<typeof readUsers>} UsersFile */

/**
 * Everybody whom the wiki knows, see people/users.js.
 * @typedef {object} Users
 * @property {(name: string) => boolean} isInFile
 * @property {(name: string) => Promise<User | null>} find  null: unknown, blocked, or only invited
 * @property {(token: string) => Promise<User | null>} byToken
 * @property {(name: string, password: string) => Promise<(User & {blocked: boolean}) | null>} check  null when they do
 *   not match
 */

/** @param {string} file @returns {User[]} @throws {ConfigError} */
export function parseUsers (file) {
  const refuse = (/** @type {string} */ reason) =>
    new ConfigError(`the users' file ${JSON.stringify(file)} cannot be used: ${reason}`)
  let text
  try {
    const { mode, size } = statSync(file)
    if ((mode & OTHERS_MAY) !== 0) {
      throw refuse('everybody on this machine may read or change it; take that away with chmod 640 or 600')
    }
    if (size > FILE_MAX_BYTES) throw refuse(`it has more than ${FILE_MAX_BYTES} bytes`)
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw error instanceof ConfigError ? error : refuse(/** @type {Error} */ (error).message)
  }
  let given
  try {
    given = JSON.parse(text)
  } catch {
    // The parser's message quotes the file's hashes.
    throw refuse('it is not JSON')
  }
  const complaint = complaintAbout(given)
  if (complaint !== null) throw refuse(`${complaint}; wiki-app/bin/user.js makes such files`)
  return given.users
}

/** @param {any} given @returns {string | null} what is wrong, without any secret */
function complaintAbout (given) {
  if (!hasOnly(given, ['users']) || !Array.isArray(given.users) || given.users.length === 0) {
    return 'it must be {"users": […]} with at least one user'
  }
  const [keys, hashes] = [new Set(), new Set()]
  for (const [index, user] of given.users.entries()) {
    const which = `users[${index}]`
    if (!hasOnly(user, ['name', 'role', 'password', 'tokens'])) {
      return `${which} must have name, role, password, perhaps tokens, and nothing else`
    }
    if (!isLine(user.name, NAME_MAX_CHARS)) return `${which}.name must be ${LINE_RULE}`
    if (!ROLES.includes(user.role)) return `${which}.role must be one of ${ROLES.join(', ')}`
    if (typeof user.password !== 'string' || !isPasswordHash(user.password)) {
      return `${which}.password must be a scrypt hash of a strength from ln=14,r=1,p=1 to ln=17,r=8,p=8`
    }
    if (keys.has(userKey(user.name))) return `${which}.name is another user's, too (capitals do not count)`
    keys.add(userKey(user.name))
    const { tokens = [] } = user
    if (!Array.isArray(tokens) || tokens.length > TOKENS_MAX) {
      return `${which}.tokens must be a list of at most ${TOKENS_MAX}`
    }
    for (const token of tokens) {
      if (
        !hasOnly(token, ['label', 'sha256']) ||
        !isLine(token.label, LABEL_MAX_CHARS) ||
        !/^[0-9a-f]{64}$/.test(token.sha256)
      ) {
        return `each of ${which}.tokens must have a label and a sha256 of 64 hexadecimal digits`
      }
      if (hashes.has(token.sha256)) return `a token of ${which} is there twice`
      hashes.add(token.sha256)
    }
  }
  return null
}

/** @param {unknown} value @param {string[]} names */
const hasOnly = (value, names) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) &&
  Object.keys(value).every((name) => names.includes(name))

/** @param {unknown} value @param {number} maxChars */
export const isLine = (value, maxChars) => typeof value === 'string' && value !== '' && value.length <= maxChars &&
  value === value.normalize('NFC').trim() &&
  !/[\p{Cc}\p{Cs}]/u.test(value) && hiddenIn(value) === null
