import { commitsTo } from './commits.js'
import { RepositoryError } from './git.js'
import { exportedIn } from './message.js'

/** @import {Commit} from './commits.js' */
/** @import {OfPage, OfPicture, Said} from './message.js' */

/**
 * What is in the repository of an export.
 * @typedef {object} State
 * @property {Map<string, import('./wiki-revisions.js').Done>} done  newest revisions by history
 * @property {Map<string, string>} files  paths of the pages that are there, by history
 * @property {Map<string, string>} paths  of names, also of former ones
 * @property {Map<string, string>} pictures  what is known about each, by its path, see `aboutPicture`
 * @property {Date} latest  time of the last change
 */

/** @returns {State} */
export const emptyState = () =>
  ({ done: new Map(), files: new Map(), paths: new Map(), pictures: new Map(), latest: new Date(0) })

/** @param {{summary: string, author: string}} picture */
export const aboutPicture = ({ summary, author }) => JSON.stringify([summary, author])

/**
 * @param {import('./repository.js').Repository} repository @param {AbortSignal} [signal]
 * @returns {Promise<State>} @throws {RepositoryError} when another commit is there
 */
export async function readState ({ folder, head, branch }, signal) {
  const state = emptyState()
  if (head === null) return state
  for await (const commit of commitsTo(folder, head, signal)) {
    const exported = exportedIn(commit)
    if (exported === null || commit.parents.length > 1) {
      throw new RepositoryError(`${branch} has a commit that no export made, ${commit.hash.slice(0, 12)}: ` +
        'export into ' +
        'another folder, or say --replace, which starts over')
    }
    if (exported.at > state.latest) state.latest = exported.at
    if ('page' in exported) addPage(state, exported, commit)
    else if ('picture' in exported) addPicture(state, exported, commit)
  }
  return state
}

/** @param {State} state @param {Said & OfPage} exported @param {Commit} commit */
function addPage ({ done, files, paths }, { page, history, revision, at }, { changes }) {
  done.set(history, { revision, at })
  const path = changes.find(({ hash }) => hash !== null)?.path
  if (path === undefined) {
    // A renaming alone, or a deletion.
    if (changes.some(({ hash }) => hash === null)) files.delete(history)
    return
  }
  files.set(history, path)
  paths.set(page, path)
}

/** @param {State} state @param {Said & OfPicture} exported @param {Commit} commit */
function addPicture ({ pictures }, exported, { changes }) {
  if (changes.some(({ hash }) => hash === null)) pictures.delete(exported.picture)
  else pictures.set(exported.picture, aboutPicture(exported))
}
