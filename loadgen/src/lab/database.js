import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { MongoClient } from 'mongodb'
import { cellsOf, DefinitionError } from './definition.js'

/**
 * @typedef {object} LabDatabase
 * @property {string} uri
 * @property {() => Promise<number | null>} serverPid  null: the server runs on another machine, or does not say
 * @property {() => Promise<void>} drop
 */

/**
 * Names a database for one run on the user's server, so that an experiment never writes to the user's wiki.
 * @param {string} mongodbUri
 * @returns {LabDatabase}
 */
export function labDatabase (mongodbUri) {
  const uri = new URL(mongodbUri)
  const name = `stevec_lab_${Date.now().toString(36)}_${randomBytes(3).toString('hex')}`
  uri.pathname = `/${name}`
  // Otherwise the server looks for the user in the new database.
  if (uri.username !== '' && !uri.searchParams.has('authSource')) {
    uri.searchParams.set('authSource', new URL(mongodbUri).pathname.slice(1) || 'admin')
  }
  /** @template T @param {(client: MongoClient) => Promise<T>} act */
  const connected = async (act) => {
    const client = new MongoClient(uri.href, { serverSelectionTimeoutMS: 5_000 })
    try {
      return await act(client)
    } finally {
      await client.close()
    }
  }
  return {
    uri: uri.href,
    // A user without the role clusterMonitor may not ask.
    serverPid: () => connected(async (client) => {
      const { host, pid } = await client.db('admin').command({ serverStatus: 1 })
      return String(host).split(':')[0] === hostname() ? Number(pid) : null
    }).catch(() => null),
    drop: () => connected(async (client) => { await client.db(name).dropDatabase() })
  }
}

/** @typedef {(name: string) => string | undefined} UriOf  the value of an environment variable */

/** The setting `database` is `$NAME`: results record the variable, never its value. @param {string} kind */
const isNamed = (kind) => kind.startsWith('$')

/**
 * @param {import('./definition.js').Definition[]} definitions
 * @param {{uriOf: UriOf, mongodbUri?: string}} config
 * @throws {DefinitionError} naming the first database that the environment does not give
 */
export function refuseUnknownDatabases (definitions, { uriOf, mongodbUri }) {
  const kinds = new Set(definitions.flatMap(cellsOf).map(({ settings }) => settings.database))
  for (const name of [...kinds].filter(isNamed).map((kind) => kind.slice(1))) {
    if (mongodbUri !== undefined) {
      throw new DefinitionError(`the experiment names its databases ($${name}): leave MONGODB_URI out`)
    }
    const uri = uriOf(name)
    if (uri === undefined) {
      throw new DefinitionError(`the experiment names the database $${name}: set ${name} to its URI, mongodb://…`)
    }
    // A URI may have a password: the message does not show it.
    if (!/^mongodb(\+srv)?:\/\/./.test(uri) || !URL.canParse(uri)) {
      throw new DefinitionError(`${name} is no URI of a MongoDB (mongodb://host:port/?replicaSet=name)`)
    }
  }
}

/**
 * The databases of a run that are not its stack's own. Each gets a name of its own on its server, and is dropped at the
 * end.
 * @param {{uriOf: UriOf, mongodbUri?: string}} config
 */
export function createDatabases ({ uriOf, mongodbUri }) {
  /** @type {Map<string, {database: LabDatabase, pid: number | null}>} */
  const opened = new Map()
  /** @type {{database: LabDatabase, pid: number | null} | null} */
  let used = null

  return {
    /**
     * @param {string} kind  the setting `database`
     * @returns {Promise<LabDatabase | null>} null: the stack has its own
     */
    async use (kind) {
      const uri = isNamed(kind) ? uriOf(kind.slice(1)) : mongodbUri
      if (uri !== undefined && !opened.has(uri)) {
        const database = labDatabase(uri)
        opened.set(uri, { database, pid: await database.serverPid() })
      }
      used = uri === undefined ? null : opened.get(uri) ?? null
      return used?.database ?? null
    },

    /** @returns {string | undefined} of the one that is used */
    uri: () => used?.database.uri,

    /** @returns {import('../machine/reading.js').WatchedProcess[]} its server, if that runs on this machine */
    processes: () => typeof used?.pid === 'number' ? [{ name: 'mongod', pid: used.pid, part: 'database' }] : [],

    /** Also drops those of other servers where one does not answer. @throws {Error} the first server's */
    async drop () {
      const drops = await Promise.allSettled([...opened.values()].map(({ database }) => database.drop()))
      const failed = drops.find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
    }
  }
}
