import { NOT_UTF8, TEXT_MAX_BYTES, TOO_LONG } from '../texts.js'
import { commitIn, subjectOf } from './commit-object.js'
import { exportedIn } from './message.js'

/** @import {MovedRevision, Untaken} from '../content.js' */
/** @import {RepositoryPage} from './page-histories.js' */
/** @import {Reading} from './read.js' */
/** @import {Entry} from './revision-list.js' */

const COMMIT_MAX_BYTES = 1_048_576
const SHORT = 12

/**
 * @param {RepositoryPage} page @param {Untaken[]} lost  gets the revisions that cannot be read @param {Reading} reading
 * @returns {AsyncGenerator<MovedRevision>}
 */
export async function * revisionsOf (page, lost, reading) {
  let before = ''
  for (const entry of reading.histories.revisions.upTo(page.last)) {
    const made = await madeBy(entry, page, reading)
    // The last commit may stand for two: its own change, and what no commit explains.
    if (entry.commit === before) made.id += '-merged'
    before = entry.commit
    const text = await textOf(entry, made.sameLinks, reading)
    if (typeof text === 'string') {
      lost.push({ kind: 'untaken', source: `${entry.path} in ${entry.commit.slice(0, SHORT)}`, reason: text })
      continue
    }
    const { sameLinks: _, ...known } = made
    yield { ...known, ...text }
  }
}

/** @param {Entry} entry @param {RepositoryPage} page @param {Reading} reading */
async function madeBy ({ commit: id }, page, { objects }) {
  const bytes = await objects.read(id, COMMIT_MAX_BYTES)
  const commit = bytes === null ? { author: '', at: new Date(0), message: '' } : commitIn(bytes)
  const exported = page.name === undefined ? null : exportedIn(commit)
  if (exported !== null && 'page' in exported) {
    const { revision, author, summary, at: createdAt, sameLinks } = exported
    return { id: String(revision), author, summary, createdAt, sameLinks }
  }
  const { author, at: createdAt, message } = commit
  return { id, author, summary: subjectOf(message), createdAt, sameLinks: false }
}

/**
 * @param {Entry} entry @param {boolean} sameLinks @param {Reading} reading
 * @returns {Promise<Pick<MovedRevision, 'content' | 'tags' | 'deleted'> | string>} a sentence: why it is left out
 */
async function textOf ({ content: hash, path }, sameLinks, { objects, texts }) {
  if (hash === null) return { content: '', tags: [], deleted: true }
  const bytes = await objects.read(hash, TEXT_MAX_BYTES)
  if (bytes === null) return TOO_LONG
  const text = await texts.read(bytes, path, { sameLinks })
  return text === null ? NOT_UTF8 : { content: text.content, tags: text.tags }
}
