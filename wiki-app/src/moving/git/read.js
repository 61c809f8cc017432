import { nameOfAttachment } from '../../archive/attachment-paths.js'
import { Folder } from '../../archive/folder.js'
import { nameOfFile } from '../../archive/file-names.js'
import { aboutPicture } from '../../archive/picture-files.js'
import { pageName } from '../../markdown/page-address.js'
import { createTexts, NAME_TAKEN, OTHER_KIND, PICTURE_MAX_BYTES, redirectsOf, TEXT_MAX_BYTES } from '../texts.js'
import { commitsTo, mainLine } from './commits.js'
import { FORMER_NAMES } from './former-names.js'
import { RepositoryError } from './git.js'
import { openObjects } from './objects.js'
import { PageHistories } from './page-histories.js'
import { revisionsOf } from './read-revisions.js'
import { openRepository } from './repository.js'
import { readTree } from './tree.js'

/** @import {LeftOut, Moved, MovedPicture, Untaken} from '../content.js' */
/** @import {Objects} from './objects.js' */
/** @import {RepositoryPage} from './page-histories.js' */
/** @import {Tree} from './tree.js' */

const NAMES_MAX_BYTES = 67_108_864

/**
 * @typedef {{folder: string, head: string, tree: Tree, histories: PageHistories, objects: Objects, links: Folder,
 *   texts: ReturnType<typeof createTexts>, signal?: AbortSignal}} Reading  `links`: to pages and pictures
 */

/**
 * The branch that is checked out: an export of a wiki, also with commits of others on it, or any repository of
 * Markdown. The commits decide, not the working tree.
 * @type {import('../content.js').Reader}
 */
export async function * readGit (from, { signal, onRead = () => {} } = {}) {
  const { folder, head } = await openRepository(from)
  if (head === null) throw new RepositoryError(`${from} has no commits on the branch that is checked out`)
  const histories = new PageHistories()
  const tree = await readTree(folder, head, signal)
  await sort(folder, head, histories, signal)
  histories.settle(head, tree.pages)
  const links = new Folder()
  const texts = createTexts(links)
  const objects = openObjects(folder, signal)
  const reading = { folder, head, tree, histories, objects, links, texts, signal }
  try {
    yield * files(reading)
    const aliases = await survey(reading)
    const taken = new Set()
    let done = 0
    for (const page of histories.pages) {
      signal?.throwIfAborted()
      yield * pageOf(page, taken, reading)
      onRead(++done, histories.pages.size)
    }
    yield * redirectsOf(aliases, taken)
    if (histories.hasExported) yield * formerNames(reading)
  } finally {
    objects.close()
    await texts.close()
  }
}

/** @param {string} folder @param {string} head @param {PageHistories} histories @param {AbortSignal} [signal] */
async function sort (folder, head, histories, signal) {
  const main = await mainLine(folder, head, signal)
  for await (const commit of commitsTo(folder, head, signal)) {
    histories.add(commit, main === null || main.has(commit.hash))
  }
}

/** @param {Reading} reading @returns {Generator<MovedPicture | Untaken | LeftOut>} */
function * files ({ tree: { pictures, refused }, histories, objects, links }) {
  for (const [path, hash] of pictures) {
    const { alt, author } = { ...aboutPicture(/** @type {any} */ ({ path })), ...histories.pictures.get(path) }
    yield {
      kind: 'picture',
      source: path,
      async read () {
        const bytes = await objects.read(hash, PICTURE_MAX_BYTES)
        if (bytes === null) throw new Error('it is too large')
        return bytes
      },
      alt,
      author,
      name: nameOfAttachment(path),
      stored: (url) => links.addPicture(path, url)
    }
  }
  for (const { path, refusal } of refused) {
    if (path === FORMER_NAMES && histories.hasExported) continue
    if (refusal === OTHER_KIND) yield { kind: 'left-out', source: path, count: 1, reason: refusal }
    else yield { kind: 'untaken', source: path, reason: refusal }
  }
}

/**
 * Names the pages that no export has named.
 * @param {Reading} reading @returns other names of pages, by the alias
 */
async function survey ({ histories: { pages }, objects, links, texts, signal }) {
  /** @type {Map<string, RepositoryPage>} */
  const others = new Map()
  for (const page of pages) {
    signal?.throwIfAborted()
    if (page.content === null) continue
    if (page.name !== undefined) {
      links.addPage(page.path, { name: page.name })
      continue
    }
    const bytes = await objects.read(page.content, TEXT_MAX_BYTES)
    const { name, title, aliases = [] } = (bytes && await texts.identify(bytes)) ?? {}
    links.addPage(page.path, { name, title })
    for (const alias of aliases) if (!others.has(alias)) others.set(alias, page)
  }
  await links.settle()
  /** @type {Map<string, {to: string, source: string}>} */
  const found = new Map()
  for (const [alias, { path }] of others) {
    const to = links.nameOf(path)
    if (to !== undefined) found.set(alias, { to, source: `${path}: ${alias}` })
  }
  // A page that is there has its name before one that was deleted.
  for (const page of [...pages]) {
    if (page.content !== null) continue
    pages.delete(page)
    pages.add(page)
  }
  return found
}

/**
 * @param {RepositoryPage} page @param {Set<string>} taken  names of pages before @param {Reading} reading
 * @returns {AsyncGenerator<Moved>}
 */
async function * pageOf (page, taken, reading) {
  const { path, content } = page
  const name = page.name ?? (content === null ? pageName(nameOfFile(path)) : reading.links.nameOf(path))
  if (name == null || taken.has(name)) {
    yield { kind: 'untaken', source: path, reason: NAME_TAKEN }
    return
  }
  taken.add(name)
  /** @type {Untaken[]} */
  const lost = []
  // A file that was renamed has the same beginning.
  const [first] = reading.histories.revisions.upTo(page.last)
  const id = first && `${first.commit}:${first.path}`
  yield { kind: 'page', source: path, name, id, revisions: revisionsOf(page, lost, reading) }
  yield * lost
}

/** @param {Reading} reading @returns {AsyncGenerator<Moved>} */
async function * formerNames ({ tree, objects }) {
  const hash = tree.others.get(FORMER_NAMES)
  const bytes = hash === undefined ? null : await objects.read(hash, NAMES_MAX_BYTES)
  if (bytes === null) return
  try {
    for (const [name, to] of Object.entries(JSON.parse(bytes.toString()))) {
      if (typeof to === 'string') yield { kind: 'redirect', source: `${FORMER_NAMES}: ${name}`, name, to }
    }
  } catch {
    yield { kind: 'untaken', source: FORMER_NAMES, reason: 'It is not the list of former names that an export writes.' }
  }
}
