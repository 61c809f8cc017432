// Makes one replica set of the three mongods, and the users. Repeatable: each step first looks at what is there.
// It shares the network of mongodb-1: until the first user exists, mongod lets only clients of 127.0.0.1 in.
// https://www.mongodb.com/docs/manual/core/localhost-exception/
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'

const MEMBERS = ['mongodb-1:27017', 'mongodb-2:27017', 'mongodb-3:27017']
const DATABASE = 'stevec'
/** As the lab's replica sets, harness/src/replica-set.js. */
const SETTINGS = { electionTimeoutMillis: 2_000, heartbeatIntervalMillis: 500, catchUpTimeoutMillis: 500 }
const WAIT_MAX_MS = 120_000
const POLL_MS = 250
const TIMEOUTS = { serverSelectionTimeoutMS: 20_000, socketTimeoutMS: 70_000 }

const secrets = JSON.parse(readFileSync('/secrets/admin/secrets.json', 'utf8'))
const login = { auth: { username: 'admin', password: secrets.mongodb_admin_password } }

await withClient('mongodb://127.0.0.1:27017/?directConnection=true', {}, async (admin) => {
  if ((await admin.command({ hello: 1 })).setName === undefined) await initiate(admin)
  const alone = await waitFor('member of the set', async () => {
    const { hosts = [], isWritablePrimary } = await admin.command({ hello: 1 })
    return hosts.length > 1 ? { is: false } : isWritablePrimary ? { is: true } : null
  })
  // The first member has users before the others come.
  if (alone.is) await createAdmin(admin)
})
await withClient(`mongodb://${MEMBERS.join()}/?replicaSet=${DATABASE}`, login, async (admin, client) => {
  await setUser(client.db(DATABASE), 'wiki', secrets.mongodb_wiki_password)
  for (const host of MEMBERS.slice(1)) await addMember(admin, host)
  await keepSettings(admin)
  await waitFor('two secondaries', async () => {
    const { members } = await admin.command({ replSetGetStatus: 1 })
    return members.filter((/** @type {any} */ { stateStr: state }) => state === 'SECONDARY').length === 2 || null
  })
})
process.stdout.write('the database is ready\n')

/**
 * @param {string} uri
 * @param {import('mongodb').MongoClientOptions} options
 * @param {(admin: import('mongodb').Db, client: MongoClient) => Promise<void>} act
 */
async function withClient (uri, options, act) {
  const client = new MongoClient(uri, { ...TIMEOUTS, ...options })
  try {
    await act(client.db('admin'), client)
  } finally {
    await client.close()
  }
}

/** With one member there is a primary at once, and it is this one. @param {import('mongodb').Db} admin */
async function initiate (admin) {
  await admin.command({
    replSetInitiate: { _id: DATABASE, members: [{ _id: 0, host: MEMBERS[0] }], settings: SETTINGS }
  })
}

/** @param {import('mongodb').Db} admin */
async function createAdmin (admin) {
  const user = { createUser: 'admin', pwd: secrets.mongodb_admin_password, roles: ['root'] }
  // mongod refuses it once a user exists.
  await admin.command(user).catch((error) => { if (error.codeName !== 'Unauthorized') throw error })
}

/**
 * @param {import('mongodb').Db} database
 * @param {string} name
 * @param {string} pwd
 */
async function setUser (database, name, pwd) {
  const { users } = await database.command({ usersInfo: name })
  const roles = [{ role: 'readWrite', db: DATABASE }]
  await database.command(users.length === 0 ? { createUser: name, pwd, roles } : { updateUser: name, pwd, roles })
}

/**
 * One at a time: a change of the majority waits until the present majority has the one before.
 * https://www.mongodb.com/docs/manual/reference/command/replSetReconfig/
 * @param {import('mongodb').Db} admin
 * @param {string} host
 */
async function addMember (admin, host) {
  await waitFor(`${host} in the set`, async () => {
    const { config } = await admin.command({ replSetGetConfig: 1 })
    if (config.members.some((/** @type {any} */ member) => member.host === host)) return true
    const members = [...config.members, { _id: config.members.length, host }]
    await reconfigure(admin, { ...config, members })
    return true
  })
}

/** A set that an older version made has that version's. @param {import('mongodb').Db} admin */
async function keepSettings (admin) {
  await waitFor('its settings', async () => {
    const { config } = await admin.command({ replSetGetConfig: 1 })
    const same = Object.entries(SETTINGS).every(([name, value]) => config.settings[name] === value)
    if (!same) await reconfigure(admin, { ...config, settings: { ...config.settings, ...SETTINGS } })
    return true
  })
}

/** @param {import('mongodb').Db} admin @param {import('mongodb').Document} config */
async function reconfigure (admin, config) {
  await admin.command({ replSetReconfig: { ...config, version: config.version + 1 }, maxTimeMS: 30_000 })
}

/**
 * @template T
 * @param {string} what
 * @param {() => Promise<T | null>} attempt  null or an error of the server: later again
 * @returns {Promise<T>}
 */
async function waitFor (what, attempt) {
  const deadline = performance.now() + WAIT_MAX_MS
  for (;;) {
    let reason
    try {
      const result = await attempt()
      if (result !== null) return result
    } catch (error) {
      reason = error
    }
    if (performance.now() > deadline) throw new Error(`there is no ${what} after two minutes`, { cause: reason })
    await sleep(POLL_MS)
  }
}
