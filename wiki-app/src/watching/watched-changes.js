import { createNewestChanges, inGroups } from '../history/newest-changes.js'
import { talkOf } from '../pages/talk.js'

/** @import {Histories} from '../pages/histories.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {RevisionItem} from '../history/history.js' */
/** @import {Watcher} from './model.js' */

/**
 * Changes are collected when they are read, so an author never waits for watchers (docs/decisions/0058). Those that
 * watch a page also get what is written on its talk page.
 * @param {Pick<Models, 'Revisions'>} models @param {Histories} histories
 */
export function createWatchedChanges (models, histories) {
  const newestChanges = createNewestChanges(models, histories)

  /**
   * @param {Pick<Watcher, 'pages' | 'authors'>} watcher
   * @param {{before?: string, from?: string, limit: number}} options  `before`: id of the last change seen; `from`: the
   *   first that counts
   * @returns {Promise<{items: RevisionItem[], more: boolean}>} the newest first, each once
   */
  return async function watchedChanges ({ pages, authors }, options) {
    const talks = await histories.storedKeysOf(pages.flatMap(({ name }) => talkOf(name) ?? []))
    const keys = new Set([...pages.map(({ history }) => history), ...talks.values()].filter((key) => key != null))
    return newestChanges(
      [...inGroups('page', [...keys]), ...inGroups('author', authors.map(({ name }) => name))], options)
  }
}
