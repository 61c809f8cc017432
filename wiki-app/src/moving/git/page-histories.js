import { isPageFile } from '../../archive/file-names.js'
import { pathRefusal } from '../../archive/paths.js'
import { exportedIn } from './message.js'
import { RevisionList } from './revision-list.js'

/** @import {Commit} from './commits.js' */
/** @import {OfPage} from './message.js' */

/**
 * A page of the repository. `name`: that an export gave it. `last`: its newest revision; `content`: hash of its text,
 * null when it is deleted.
 * @typedef {{path: string, name?: string, last: number | null, content: string | null}} RepositoryPage
 */

/** @param {string} path */
export const isPage = (path) => isPageFile(path) && pathRefusal(path) === null

/**
 * Sorts the changes of all commits by page. Commits of an export say which page is theirs. In others, a file is a page
 * and keeps its history where git finds that it was renamed; names change on the main line alone, where each merge
 * shows what came of its branches.
 */
export class PageHistories {
  revisions = new RevisionList()
  /** @type {Set<RepositoryPage>} */
  pages = new Set()
  /** What exports say about pictures, by path. @type {Map<string, {alt: string, author: string}>} */
  pictures = new Map()
  hasExported = false
  /** Files that are there. @type {Map<string, RepositoryPage>} */
  #live = new Map()
  /** Files that were deleted: a new one is the same page. @type {Map<string, RepositoryPage>} */
  #dead = new Map()
  /** @type {Map<string, RepositoryPage>} */
  #byHistory = new Map()
  /** What the main line has of pages that branches have changed: hashes. @type {Map<RepositoryPage, string | null>} */
  #onMain = new Map()

  /** @param {Commit} commit @param {boolean} isMain  whether it is on the main line */
  add (commit, isMain) {
    const exported = exportedIn(commit)
    if (exported !== null) this.hasExported = true
    if (exported !== null && 'picture' in exported) {
      this.pictures.set(exported.picture, { alt: exported.summary, author: exported.author })
    }
    if (exported !== null && 'page' in exported) this.#addExported(commit, exported)
    else if (isMain) {
      this.#addMain(commit)
      if (commit.parents.length > 1) this.#dropBranches(commit)
    } else this.#addSide(commit)
  }

  /**
   * What no commit explains.
   * @param {string} head  hash of the last commit @param {Map<string, string>} tree  hashes of its pages by path
   */
  settle (head, tree) {
    for (const [path, page] of [...this.#live]) if (!tree.has(path)) this.#delete(page, head)
    for (const [path, content] of tree) {
      const page = this.#live.get(path) ?? this.#open(path)
      if (page.content !== content) this.#record(page, head, content)
    }
  }

  /** @param {Commit} commit @param {OfPage} exported */
  #addExported ({ hash: commit, changes }, { history, page: name }) {
    const file = changes.find(({ hash }) => hash !== null)
    const known = this.#byHistory.get(history)
    const page = known ?? { path: file?.path ?? '', last: null, content: null }
    this.#byHistory.set(history, page)
    this.pages.add(page)
    page.name = name
    if (this.#live.get(page.path) === page) this.#live.delete(page.path)
    if (file === undefined) {
      this.#dead.set(page.path, page)
      this.#record(page, commit, null)
      return
    }
    page.path = file.path
    this.#live.set(file.path, page)
    this.#record(page, commit, file.hash)
  }

  /** @param {Commit} commit */
  #addMain ({ hash: commit, parents, changes }) {
    const moved = new Map(changes.flatMap(({ path, from }) => {
      const page = from === undefined ? undefined : this.#live.get(from)
      return page === undefined || !isPage(path) ? [] : [[path, page]]
    }))
    for (const { path, from = path, hash } of changes) {
      const page = this.#live.get(from)
      if (page === undefined) continue
      if (moved.get(path) === page) this.#live.delete(from)
      else if (hash === null || (from !== path && !isPage(path))) this.#delete(page, commit)
    }
    for (const { path, hash } of changes) {
      if (hash === null || !isPage(path)) continue
      const there = this.#live.get(path)
      const page = moved.get(path) ?? there ?? this.#open(path)
      if (there !== undefined && there !== page) this.#delete(there, commit)
      page.path = path
      this.#live.set(path, page)
      // A branch has brought this text already.
      if (parents.length > 1 && page.content === hash) this.#onMain.delete(page)
      else this.#record(page, commit, hash)
    }
  }

  /** @param {Commit} commit */
  #addSide ({ hash: commit, parents, changes }) {
    if (parents.length > 1) return
    for (const { path, from = path, hash } of changes) {
      if (hash === null || !isPage(path)) continue
      const there = this.#live.get(from) ?? this.#live.get(path)
      const page = there ?? (from === path ? this.#open(path) : undefined)
      if (page === undefined) continue
      const before = this.#onMain.has(page) ? this.#onMain.get(page) : there?.content
      this.#record(page, commit, hash, path)
      this.#onMain.set(page, before ?? null)
    }
  }

  /**
   * A merge does not show what it dropped of its branches. It has an own revision of that: the last commit, which
   * might say it, is another one at the next import.
   * @param {Commit} commit  a merge
   */
  #dropBranches ({ hash: commit }) {
    for (const [page, content] of [...this.#onMain]) {
      if (content === null) this.#delete(page, commit)
      else if (content !== page.content) this.#record(page, commit, content)
    }
    this.#onMain.clear()
  }

  /** @param {string} path @returns {RepositoryPage} */
  #open (path) {
    const page = this.#dead.get(path) ?? { path, last: null, content: null }
    this.#dead.delete(path)
    this.pages.add(page)
    this.#live.set(path, page)
    return page
  }

  /** @param {RepositoryPage} page @param {string} commit */
  #delete (page, commit) {
    this.#live.delete(page.path)
    this.#dead.set(page.path, page)
    this.#record(page, commit, null)
  }

  /** @param {RepositoryPage} page @param {string} commit @param {string | null} content @param {string} [path] */
  #record (page, commit, content, path = page.path) {
    this.#onMain.delete(page)
    page.content = content
    page.last = this.revisions.add(page.last, { commit, content, path })
  }
}
