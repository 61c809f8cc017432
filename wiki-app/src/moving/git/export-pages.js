import { createFileNames } from '../../archive/file-names.js'
import { withFrontMatter } from '../../archive/front-matter.js'
import { messageOf } from './message.js'
import { withRelativePictures } from './picture-links.js'
import { wikiRevisions } from './wiki-revisions.js'

/** @import {ClientSession, Db} from 'mongodb' */
/** @import {Revision} from '../../pages/model.js' */
/** @import {State} from './exported-state.js' */
/** @import {FastImport} from './fast-import.js' */
/** @import {readNames} from './names-then.js' */

/**
 * A commit for each revision.
 * @param {Db} db
 * @param {{session: ClientSession, state: State, into: FastImport, names: Awaited<ReturnType<typeof readNames>>,
 *   onRevision: (count: number) => void}} options  `state` follows
 * @returns {Promise<number>} commits
 */
export async function exportRevisions (db, { session, state, into, names, onRevision }) {
  const places = createPlaces(state)
  let count = 0
  for await (const each of wikiRevisions(db, { session, done: state.done })) {
    const { page: history, revision, deleted, author = '', summary = '', created_at: at } = each
    const name = names.nameAt(history, revision)
    const before = state.files.get(history) ?? null
    const { sameLinks, ...changes } = deleted
      ? { sameLinks: false, remove: before }
      : fileChanges(each, name, { before, path: places.of(history, name) })
    if (deleted) places.leave(history)
    if (at > state.latest) state.latest = at
    const exported = { page: name, revision, history, sameLinks, summary, author, at }
    await into.commit({ author, at }, messageOf(exported, deleted ? `Delete “${name}”` : name), changes)
    onRevision(++count)
  }
  return count
}

/** So that nobody takes it for a text of its author. */
const ERASED_TEXT = 'The text of this revision was erased.'

/** @param {Revision} stored @param {string} name @param {{before: string | null, path: string}} places */
function fileChanges (stored, name, { before, path }) {
  const { tags = [], revision, created_at: at, author } = stored
  const content = stored.erased_at ? ERASED_TEXT : stored.content
  const relative = withRelativePictures(content, path)
  const known = { name, tags, revision, modified_at: at.toISOString(), ...author && { author } }
  return {
    sameLinks: relative === null,
    move: /** @type {[string, string] | null} */ (before === null || before === path ? null : [before, path]),
    file: { path, content: withFrontMatter(known, relative ?? content) }
  }
}

/** Paths of pages. @param {State} state */
function createPlaces ({ files, paths }) {
  const fileName = createFileNames(paths.values())
  /** Histories by path. */
  const owners = new Map([...files].map(([history, path]) => [path, history]))
  const leave = (/** @type {string} */ history) => {
    owners.delete(files.get(history) ?? '')
    files.delete(history)
  }
  return {
    leave,

    /** The page is there from now on. @param {string} history @param {string} name */
    of (history, name) {
      let path = paths.get(name) ?? fileName(name)
      paths.set(name, path)
      // Two pages had the name at the same moment, for clocks that differ.
      while (owners.has(path) && owners.get(path) !== history) path = fileName(name)
      leave(history)
      owners.set(path, history)
      files.set(history, path)
      return path
    }
  }
}
