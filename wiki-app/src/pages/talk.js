import { canonicalName, encodeName } from './name.js'

/**
 * A talk page is an ordinary page whose name begins so (docs/decisions/0084). All of them are one range of names, in
 * the order of bytes as in that of the lists.
 */
export const TALK = 'Talk:'
/** After all of them. NAME_ORDER puts U+FFFF last; names such as `talk:a`, which it puts between, count as after. */
const AFTER_TALK = `${TALK}\uFFFF`

/** Whether it is in their range. Some are about no page: `Talk:Talk:a`. @param {string} name */
export const isAmongTalk = (name) => name.startsWith(TALK)

/** @param {string} name  canonical @returns {string | null} the page that it is about; null: it is no talk page */
export function pageOfTalk (name) {
  const page = isAmongTalk(name) ? name.slice(TALK.length) : null
  return page === null || isAmongTalk(page) ? null : canonical(page)
}

/** @param {string} name  canonical @returns {string | null} null: a name of talk pages itself, or too long a name */
export const talkOf = (name) => isAmongTalk(name) ? null : canonical(`${TALK}${name}`)

/** @param {string} name @returns {string | null} null: no page can be called so, or another spelling */
function canonical (name) {
  try {
    return canonicalName(name) === name ? name : null
  } catch {
    return null
  }
}

/**
 * A list of pages by name jumps over talk pages.
 * @template {{_id: string}} T
 * @param {(after?: string) => Promise<T[]>} read  the next pages in NAME_ORDER @param {string} [after]
 * @returns {Promise<T[]>} as many as `read` gives, or a few more
 */
export async function withoutTalk (read, after) {
  const found = await read(after)
  const first = found.findIndex(({ _id }) => isAmongTalk(_id))
  if (first === -1) return found
  return [...found.slice(0, first), ...(await read(AFTER_TALK)).filter(({ _id }) => !isAmongTalk(_id))]
}

/** Below /edit/, as other forms. @param {string} name  of a talk page */
export const topicUrl = (name) => `/edit/topic/${encodeName(name)}`
