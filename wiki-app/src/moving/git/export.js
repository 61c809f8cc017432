import { MongoClient } from 'mongodb'
import { WrongDatabaseError } from '../../backup/format.js'
import { atOneMoment } from '../../backup/snapshot.js'
import { exportPictures } from './export-pictures.js'
import { exportRevisions } from './export-pages.js'
import { emptyState, readState } from './exported-state.js'
import { startImport } from './fast-import.js'
import { exportFormerNames } from './former-names.js'
import { readNames } from './names-then.js'
import { EXPORT_REF, prepareRepository, publish } from './repository.js'

/** @import {ClientSession, Db} from 'mongodb' */
/** @import {Repository} from './repository.js' */
/** @import {State} from './exported-state.js' */

const SELECTION_MS = 5_000

/**
 * `outside`: see openOutside in backup/pictures.js. `replace`: starts over, without what the branch has.
 * @typedef {object} ExportOptions
 * @property {string} uri  with a database
 * @property {string} folder  of a repository, or a new one
 * @property {boolean} [replace]
 * @property {import('../../backup/pictures.js').Outside} [outside]
 * @property {AbortSignal} [signal]
 * @property {(what: string, done: number) => void} [onProgress]
 */

/**
 * Writes the wiki's history as commits of a git repository, as it is at one moment; the wiki may run meanwhile. A
 * second export appends what is new. The branch stays as it was until all is written.
 * @param {ExportOptions} options
 * @returns {Promise<{revisions: number, pictures: number, names: number}>} commits of each kind
 * @throws {import('./git.js').RepositoryError} when the folder is not one for it
 * @throws {WrongDatabaseError} when the database is empty
 * @throws {Error} when it is unreachable, its snapshot expires, or git is missing
 */
export async function exportGit ({ uri, folder, replace = false, signal, ...options }) {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: SELECTION_MS })
  try {
    await client.connect()
    const db = client.db()
    if (await db.collection('pages').findOne({}, { projection: { _id: 1 } }) === null) {
      throw new WrongDatabaseError(`the database ${db.databaseName} has no pages: there is no wiki in it`)
    }
    const repository = await prepareRepository(folder)
    const state = replace ? emptyState() : await readState(repository, signal)
    const from = replace ? null : repository.head
    const counts = await atOneMoment(client, 'export', (session) =>
      write(db, { session, repository, state, from, signal, ...options }))
    if (counts.revisions + counts.pictures + counts.names > 0) await publish(repository)
    return counts
  } finally {
    await client.close()
  }
}

/**
 * @param {Db} db
 * @param {Omit<ExportOptions, 'uri' | 'folder'> &
 *   {session: ClientSession, repository: Repository, state: State, from: string | null}} options
 */
async function write (db, { session, repository, state, from, outside, signal, onProgress = () => {} }) {
  const into = startImport(repository.folder, { ref: EXPORT_REF, from, signal })
  try {
    const names = await readNames(db, session)
    const revisions = await exportRevisions(db, {
      session, state, into, names, onRevision: (count) => onProgress('revisions', count)
    })
    const pictures = await exportPictures(db, {
      session, outside, state, into, onPicture: (count) => onProgress('pictures', count)
    })
    const written = await exportFormerNames(names.formers, { repository, from, state, into })
    await into.end()
    return { revisions, pictures, names: written }
  } finally {
    into.stop()
  }
}
