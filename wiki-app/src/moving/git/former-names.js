import { createHash } from 'node:crypto'
import { gitOrNull } from './git.js'
import { messageOf } from './message.js'

/** @import {Former} from './names-then.js' */

/** No page has this file: names of theirs end in “.md”. */
export const FORMER_NAMES = 'former-names.json'

/**
 * Names that redirect, also those that no renaming shows.
 * @param {Map<string, Former>} formers
 * @param {{repository: import('./repository.js').Repository, from: string | null,
 *   state: import('./exported-state.js').State, into: import('./fast-import.js').FastImport}} options
 * @returns {Promise<number>} commits: none when the file has them already
 */
export async function exportFormerNames (formers, { repository: { folder }, from, state, into }) {
  const path = FORMER_NAMES
  const content = formers.size === 0 ? '' : textOf(formers)
  const before = from === null ? null : await gitOrNull(folder, ['rev-parse', '--verify', `${from}:${path}`])
  const exported = { formerNames: formers.size, summary: 'Former names of pages', author: '', at: state.latest }
  const change = content === '' ? { remove: path } : { file: { path, content } }
  if (content === '' ? before === null : before !== null && before === blobHash(content, before.length)) return 0
  await into.commit(exported, messageOf(exported, path), change)
  return 1
}

/** As git names it. @param {string} content @param {number} digits */
const blobHash = (content, digits) => createHash(digits === 64 ? 'sha256' : 'sha1')
  .update(`blob ${Buffer.byteLength(content)}\0${content}`)
  .digest('hex')

/** @param {Map<string, Former>} formers */
const textOf = (formers) =>
  `${JSON.stringify(Object.fromEntries([...formers].map(([name, { to }]) => [name, to])), null, 2)}\n`
