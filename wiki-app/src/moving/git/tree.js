import { isUploadFile } from '../../archive/attachment-paths.js'
import { pathRefusal } from '../../archive/paths.js'
import { OTHER_KIND } from '../texts.js'
import { RepositoryError, startGit } from './git.js'
import { isPage } from './page-histories.js'
import { tokensIn } from './tokens.js'

const FILES_MAX = 1_000_000
const TOKEN_MAX_BYTES = 65_536
const ENTRY = /^(\d+) (\w+) ([0-9a-f]+)\t([^]*)$/

/**
 * The files of the last commit, without hidden ones.
 * @typedef {object} Tree
 * @property {Map<string, string>} pages  hashes by path
 * @property {Map<string, string>} pictures  and attachments
 * @property {Map<string, string>} others
 * @property {{path: string, refusal: string}[]} refused
 */

/**
 * @param {string} folder @param {string} commit  hash @param {AbortSignal} [signal]
 * @returns {Promise<Tree>} @throws {RepositoryError} when there are too many
 */
export async function readTree (folder, commit, signal) {
  /** @type {Tree} */
  const tree = { pages: new Map(), pictures: new Map(), others: new Map(), refused: [] }
  const { stdout, ended, stop } = startGit(folder, ['ls-tree', '-r', '-z', '--full-tree', commit], signal)
  let count = 0
  try {
    for await (const token of tokensIn(stdout, TOKEN_MAX_BYTES)) {
      if (++count > FILES_MAX) throw new RepositoryError(`there are more than ${FILES_MAX} files in ${folder}`)
      const [, mode, type, hash, path] = ENTRY.exec(token) ?? []
      if (path !== undefined) add(tree, { mode, type, hash, path })
    }
    await ended
    return tree
  } finally {
    stop()
  }
}

/** @param {Tree} tree @param {{mode: string, type: string, hash: string, path: string}} entry */
function add ({ pages, pictures, others, refused }, { mode, type, hash, path }) {
  if (path.split('/').some((step) => step.startsWith('.'))) return
  const refusal = refusalOf(mode, type) ?? pathRefusal(path)
  if (refusal !== null) refused.push({ path, refusal })
  else if (isPage(path)) pages.set(path, hash)
  else if (isUploadFile(path)) pictures.set(path, hash)
  else {
    others.set(path, hash)
    refused.push({ path, refusal: OTHER_KIND })
  }
}

/** @param {string} mode @param {string} type */
function refusalOf (mode, type) {
  if (type !== 'blob') return 'It is another repository.'
  return mode === '120000' ? 'It is a link to another file.' : null
}
