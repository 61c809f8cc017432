import { RepositoryError } from './git.js'

/** @import {ClientSession, Db} from 'mongodb' */
/** @import {Revision} from '../../pages/model.js' */

/** A batch is decoded at once, and a text may have a mebibyte. */
const BATCH = 100

/**
 * The newest revision of a history in the repository.
 * @typedef {{revision: number, at: Date}} Done
 */

/**
 * In the order of their ids, which grow with time. Processes of one wiki may number the same second differently, so a
 * revision waits for the one that it follows.
 * @param {Db} db @param {{session: ClientSession, done: Map<string, Done>}} options  `done`: by history; left out
 * @returns {AsyncGenerator<Revision>}
 * @throws {RepositoryError} when the wiki lacks one that is `done`
 */
export async function * wikiRevisions (db, { session, done }) {
  const revisions = /** @type {import('mongodb').Collection<any>} */ (db.collection('revisions'))
  /** Newest revisions by history. @type {Map<string, number>} */
  const reached = new Map()
  /** @type {Map<string, Revision[]>} */
  const waiting = new Map()
  const missing = new Map(done)
  // Those that are done already are read without their texts.
  const projection = done.size > 0 ? { content: 0 } : {}
  const whole = async (/** @type {Revision} */ each) => each.content !== undefined
    ? each
    : { ...each, ...(await revisions.findOne({ _id: each._id }, { session })) }

  for await (const each of revisions.find({}, { session, projection, batchSize: BATCH }).sort({ _id: 1 })) {
    const { page, revision } = each
    const last = done.get(page)
    if (last !== undefined && revision <= last.revision) {
      if (revision === last.revision && each.created_at.getTime() === last.at.getTime()) missing.delete(page)
      continue
    }
    const turns = [each, ...waiting.get(page) ?? []]
    waiting.delete(page)
    while (turns.length > 0) {
      const at = turns.findIndex(({ follows }) =>
        follows === null || follows <= (reached.get(page) ?? last?.revision ?? 0))
      if (at === -1) break
      const [turn] = turns.splice(at, 1)
      reached.set(page, turn.revision)
      yield await whole(turn)
    }
    if (turns.length > 0) waiting.set(page, turns)
  }
  // A wiki that lost a revision is exported, too.
  for (const each of [...waiting.values()].flat().sort((one, other) => one.revision - other.revision)) {
    yield await whole(each)
  }
  if (missing.size > 0) throw diverged(missing)
}

/** @param {Map<string, Done>} missing */
function diverged (missing) {
  const [[history, { revision }]] = missing
  return new RepositoryError('the repository is not of this wiki, or the wiki was set back: ' +
    `it has revision ${revision} ` +
    `of "${history}", and the wiki has another one or none; export into another folder, or say --replace`)
}
