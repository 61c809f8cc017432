import { newPageName, pageName } from '../../scenarios/plan.js'
import { linkId, linkPath, newLinkedPage, newLinkId, pagesOfLinks } from '../../scenarios/short-links.js'
import { linkTo } from './links.js'

/**
 * A request of a warm-up, and the statuses that its response may have.
 * @typedef {object} Message
 * @property {string} path
 * @property {number[]} statuses
 * @property {string} [method]
 * @property {Record<string, string>} [headers]
 * @property {string} [body]
 * @property {Message} [next]  that the same client sends after the response
 */

/**
 * @typedef {object} Messages
 * @property {(index: number) => Message} read
 * @property {(() => Message) | null} edit  null: no edits
 * @property {number} editEvery  of so many messages, not counting those that follow another, one is an edit
 * @property {number} atOnce  messages
 */

const AT_ONCE = 4
/** More clients than that compile no more of the wiki's code. */
const AT_ONCE_MAX = 32

/**
 * Where each wiki has a share of a core, as many as the trial's clients of each: what a wiki compiles for so many, each
 * of several compiles for itself, and the share makes that long.
 * @param {Pick<import('./settings.js').Settings, 'vus' | 'wiki_cpu_share'>} settings
 * @param {number} wikis
 * @returns {number} messages at once
 */
export const atOnceOf = ({ vus, wiki_cpu_share: share }, wikis) =>
  share === null ? AT_ONCE : Math.max(AT_ONCE, Math.min(AT_ONCE_MAX, Math.ceil(vus / wikis)))

/** A trial's edits run code that reads do not; a tenth of the messages is enough of them. */
const EDIT_EVERY = 10

/**
 * @param {object} options
 * @param {number} options.pages  of trials, to read
 * @param {() => {name: string, text: string}} [options.nextEdit]  default: no edits
 * @param {number[]} [options.accepted]  statuses of an edit
 * @param {number} [options.atOnce]
 * @returns {Messages}
 */
export const pageMessages = ({ pages, nextEdit, accepted = [200, 201], atOnce = AT_ONCE }) => ({
  read: (index) => ({ path: `/wiki/${pageName(index % pages)}`, statuses: [200] }),
  edit: nextEdit === undefined
    ? null
    : () => {
        const { name, text } = nextEdit()
        const headers = { 'content-type': 'text/markdown' }
        return { path: `/wiki/${name}`, statuses: accepted, method: 'POST', headers, body: text }
      },
  editEvery: EDIT_EVERY,
  atOnce
})

/**
 * Creates pages of its own and reads each once, as the clients of a trial with `create-get` do.
 * @param {object} options
 * @param {string} options.mark  of this warm-up, as that of a trial
 * @param {number} options.atOnce
 * @param {() => {text: string}} options.nextEdit
 * @returns {Messages}
 */
export function newPageMessages ({ mark, atOnce, nextEdit }) {
  let made = 0
  const headers = { 'content-type': 'text/markdown' }
  return {
    read: () => { throw new Error('each read follows the creation of its page') },
    edit () {
      const path = `/wiki/${newPageName(mark, made++)}`
      return { path, statuses: [201], method: 'POST', headers, body: nextEdit().text, next: { path, statuses: [200] } }
    },
    editEvery: 1,
    atOnce
  }
}

/** @param {import('./warm-up.js').Rounds} rounds @returns {number} new links at most */
export const newLinksOf = ({ requests, most }) => Math.ceil(requests * most / EDIT_EVERY)

/**
 * Reads the trial's short links, and makes new ones to pages of its own.
 * @param {object} options
 * @param {number} options.links  of trials, to read
 * @param {string} options.mark  of this warm-up, as that of a trial
 * @param {number} options.most  new links: the pages for so many exist
 * @returns {Messages}
 */
export function linkMessages ({ links, mark, most }) {
  let made = 0
  return {
    read: (index) => ({ path: linkPath('GET', linkId(index % links)), statuses: [301, 302] }),
    edit () {
      const index = made++
      const page = newLinkedPage(mark, index % pagesOfLinks(most))
      return { path: linkPath('PUT', newLinkId(mark, index)), statuses: [201], ...linkTo(page) }
    },
    editEvery: EDIT_EVERY,
    atOnce: AT_ONCE
  }
}
