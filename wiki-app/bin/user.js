#!/usr/bin/env node
import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { hashPassword, PASSWORD_MAX_CHARS, PASSWORD_MIN_CHARS } from '../src/access/password.js'
import { ROLES } from '../src/access/roles.js'
import {
  isLine, LINE_RULE, NAME_MAX_CHARS, parseUsers, readUsers, sha256, TOKENS_MAX, userKey
} from '../src/access/users.js'
import { readPassword } from '../src/access/read-password.js'
import { invitationUrl } from '../src/people/addresses.js'
import { createToken } from '../src/people/secrets.js'

const HELP = `Usage: node wiki-app/bin/user.js invite NAME [--role ROLE]
       node wiki-app/bin/user.js <command> FILE [NAME] [options]

The people of a wiki that runs with ACCESS=users.

  invite NAME [--role ROLE]        print a link with which a new person chooses a password, or a
                                   known one a new password. Administrators do the rest in the
                                   wiki, at /edit/people; invite the first one here. The settings
                                   are those of the wiki (ACCESS, MONGODB_URI, PUBLIC_URL)

Or the people are in a file, which the wiki reads when it starts (USERS_FILE=FILE):

  set FILE NAME [--role ROLE]      make a user, or give one a new password and role
  role FILE NAME --role ROLE       give a user another role
  token FILE NAME --label LABEL    make a token for a program of that name; it is shown once
  revoke FILE NAME --label LABEL   make the token with this label worthless
  remove FILE NAME                 remove a user, tokens and all
  list FILE                        who there is, with roles and labels of tokens

ROLE is one of:
  reader   may sign in, and not write
  editor   writes, renames, deletes and brings back pages (for a new user the default)
  admin    may besides manage people, and take back all that an author did

The password is asked for without showing it, or read from standard input; never give it as an
argument, where others can see it.

Examples:
  ACCESS=users MONGODB_URI=mongodb://127.0.0.1:27027/stevec?replicaSet=stevec \\
    node wiki-app/bin/user.js invite "Ana Novak" --role admin
  node wiki-app/bin/user.js set users.json "Ana Novak" --role admin
  pass show wiki/ana | node wiki-app/bin/user.js set users.json "Ana Novak"
  node wiki-app/bin/user.js token users.json "Ana Novak" --label "nightly import"
  ACCESS=users USERS_FILE=users.json node wiki-app/src/server.js
`

/** A database that is away is named soon. */
const SELECTION_MS = 5_000

/** An error that the user of the command can correct. */
class UsageError extends Error {}

/** @typedef {import('../src/access/users.js').User} User */

/**
 * Each command changes the users, and resolves with the output.
 * @type {Record<string, (users: User[], name: string, options: {role?: string, label?: string}) => Promise<string>>}
 */
const COMMANDS = {
  async set (users, name, { role }) {
    const present = users.find((user) => userKey(user.name) === userKey(name))
    const given = roleIn(role ?? present?.role ?? 'editor')
    const password = await hashPassword(await newPassword())
    if (present === undefined) users.push({ name, role: given, password })
    else Object.assign(present, { password, role: given })
    return `${present === undefined ? 'made' : 'changed'} ${name}\n`
  },

  async role (users, name, { role }) {
    userIn(users, name).role = roleIn(role)
    return `${name} is ${role} now\n`
  },

  async token (users, name, { label }) {
    const user = userIn(users, name)
    const tokens = user.tokens ?? []
    if (!isLine(label, NAME_MAX_CHARS)) {
      throw new UsageError(`--label must be a line of 1 to ${NAME_MAX_CHARS} characters that says what the token is for`)
    }
    if (tokens.some((token) => token.label === label)) {
      throw new UsageError(`${name} has a token "${label}" already; revoke it first, or choose another label`)
    }
    if (tokens.length === TOKENS_MAX) {
      throw new UsageError(`${name} has ${TOKENS_MAX} tokens, and more are not possible; revoke one first`)
    }
    const token = createToken()
    user.tokens = [...tokens, { label: /** @type {string} */ (label), sha256: sha256(token) }]
    return `${token}\n`
  },

  async revoke (users, name, { label }) {
    const user = userIn(users, name)
    const left = (user.tokens ?? []).filter((token) => token.label !== label)
    if (left.length === (user.tokens ?? []).length) throw new UsageError(`${name} has no token "${label ?? ''}"`)
    user.tokens = left
    return `revoked "${label}" of ${name}\n`
  },

  async remove (users, name) {
    users.splice(users.indexOf(userIn(users, name)), 1)
    return `removed ${name}\n`
  }
}

/** @param {string[]} argv */
async function main (argv) {
  const { values, positionals: [command, file, name, ...rest] } = parse(argv)
  if (values.help || command === undefined) {
    process.stdout.write(HELP)
    return command === undefined && !values.help ? 2 : 0
  }
  if (command === 'list' && file !== undefined && name === undefined) {
    for (const user of parseUsers(file)) {
      process.stdout.write(`${user.name}\t${user.role}\t${(user.tokens ?? []).map(({ label }) => label).join(', ')}\n`)
    }
    return 0
  }
  if (command === 'invite') {
    if (file === undefined || name !== undefined) throw new UsageError('invite takes a NAME; blanks in it need quotes')
    return invite(file, values.role)
  }
  if (!Object.hasOwn(COMMANDS, command)) {
    const there = ['invite', ...Object.keys(COMMANDS), 'list'].join(', ')
    throw new UsageError(`there is no command "${command}"; there is: ${there}`)
  }
  if (file === undefined || name === undefined || rest.length > 0) {
    throw new UsageError(`${command} takes a FILE and a NAME; a name with blanks needs quotes`)
  }
  if (!isLine(name, NAME_MAX_CHARS)) throw new UsageError(`a name must be ${LINE_RULE}`)
  const users = existsSync(file) ? parseUsers(file) : []
  const said = await COMMANDS[command](users, name, values)
  if (users.length === 0) {
    throw new UsageError('the last user cannot be removed: the wiki would not start with an empty file')
  }
  write(file, users)
  process.stdout.write(said)
  return 0
}

/** @param {string} name @param {string | undefined} role @returns {Promise<number>} the exit code */
async function invite (name, role) {
  if (!isLine(name, NAME_MAX_CHARS)) throw new UsageError(`a name must be ${LINE_RULE}`)
  // The other commands need no database, and start in half the time.
  const [{ default: mongoose }, { readConfig }, { createFirstPeople }] = await Promise.all([
    import('mongoose'), import('../src/config.js'), import('../src/people/first-people.js')
  ])
  const { ACCESS: access, MONGODB_URI: uri, PUBLIC_URL: root, USERS_FILE: usersFile } = readConfig(process.env)
  if (access !== 'users') throw new UsageError('only a wiki with ACCESS=users knows people by name; set it here, too')
  const known = usersFile === undefined ? null : readUsers(usersFile)
  const connection = mongoose.createConnection(uri, { serverSelectionTimeoutMS: SELECTION_MS })
  try {
    const secret = await createFirstPeople(connection, known)(name, role === undefined ? undefined : roleIn(role))
    const where = root === undefined ? ' (after the address of the wiki)' : ''
    process.stdout.write(`${root === undefined ? '' : new URL(root).origin}${invitationUrl(secret)}\n`)
    process.stderr.write(`It lasts three days and works once${where}: send it to ${name} alone.\n`)
  } finally {
    await connection.close()
  }
  return 0
}

/** @param {string[]} argv */
function parse (argv) {
  try {
    return parseArgs({
      args: argv,
      options: {
        help: { type: 'boolean', short: 'h' },
        role: { type: 'string' },
        label: { type: 'string' }
      },
      allowPositionals: true,
      strict: true
    })
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message)
  }
}

/**
 * @param {User[]} users
 * @param {string} name
 */
function userIn (users, name) {
  const user = users.find((user) => userKey(user.name) === userKey(name))
  if (user === undefined) throw new UsageError(`there is no user "${name}"; \`set\` makes one`)
  return user
}

/** @param {string | undefined} role */
function roleIn (role) {
  const known = ROLES.find((each) => each === role)
  if (known === undefined) throw new UsageError(`--role must be one of ${ROLES.join(', ')}`)
  return known
}

async function newPassword () {
  const password = await readPassword()
  if (password.length < PASSWORD_MIN_CHARS || password.length > PASSWORD_MAX_CHARS) {
    throw new UsageError(`a password must have ${PASSWORD_MIN_CHARS} to ${PASSWORD_MAX_CHARS} characters`)
  }
  return password
}

/**
 * Writes the file atomically, so that a wiki that starts meanwhile never reads half a file.
 * @param {string} file
 * @param {User[]} users
 */
function write (file, users) {
  const mode = existsSync(file) ? statSync(file).mode & 0o777 : 0o600
  const draft = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}`)
  try {
    writeFileSync(draft, `${JSON.stringify({ users }, null, 2)}\n`, { mode, flag: 'wx' })
    renameSync(draft, file)
  } finally {
    rmSync(draft, { force: true })
  }
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const usage = error instanceof UsageError
  process.stderr.write(`user: ${/** @type {Error} */ (error).message}\n${usage ? '(see --help)\n' : ''}`)
  process.exitCode = usage ? 2 : 1
}
