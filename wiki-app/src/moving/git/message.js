/**
 * What the message of an exported commit says about it. A picture's summary is what it shows.
 * @typedef {{summary: string, author: string, at: Date}} Said
 * @typedef {{page: string, revision: number, history: string, sameLinks: boolean}} OfPage  `history`: a key that stays
 *   when the page is renamed, see pages/histories.js; `sameLinks`: links to pictures are as in the wiki
 * @typedef {{picture: string}} OfPicture  its path
 * @typedef {{formerNames: number}} OfNames
 * @typedef {Said & (OfPage | OfPicture | OfNames)} Exported
 */

const TRAILER = /^([A-Z][A-Za-z-]*): (.*)$/
/** JSON keeps these. */
const NOT_PLAIN = /^$|^["\s]|\s$|[\p{Cc}\u2028\u2029\ufffd]/u
const NUMBER = /^\d{1,15}$/

/** For the first line of a message, and for an author's name. @param {string} text */
export const oneLine = (text) => text.replace(/[\p{Cc}\p{Cs}\u2028\u2029]+/gu, ' ').trim()

/** https://git-scm.com/docs/git-fast-import#_author @param {string} author */
export const committer = (author) => oneLine(author.replace(/[<>]/g, ' ')).replace(/ +/g, ' ') || 'Anonymous'

/**
 * What git cannot keep as it is stands in trailers, so that it can be read back.
 * @param {Exported} exported @param {string} subject  where there is no summary
 */
export function messageOf (exported, subject) {
  const { summary, author, at } = exported
  const line = oneLine(summary) || oneLine(subject)
  /** @type {[string, string | number | false][]} */
  const trailers = [
    ...subjectTrailers(exported),
    ['Summary', line !== summary && JSON.stringify(summary)],
    ['Author', committer(author) !== author && JSON.stringify(author)],
    ['Time', at.toISOString()]
  ]
  const lines = trailers.filter(([, value]) => value !== false).map(([name, value]) => `${name}: ${value}`)
  return `${line}\n\n${lines.join('\n')}\n`
}

/** @param {Exported} exported @returns {[string, string | number | false][]} */
function subjectTrailers (exported) {
  if ('picture' in exported) return [['Picture', valueOf(exported.picture)]]
  if ('formerNames' in exported) return [['Former-Names', exported.formerNames]]
  const { page, revision, history, sameLinks } = exported
  return [
    ['Page', valueOf(page)],
    ['Revision', revision],
    ['History', history !== page && valueOf(history)],
    ['Picture-Links', sameLinks && 'unchanged']
  ]
}

/**
 * @param {Pick<import('./commits.js').Commit, 'message' | 'author' | 'at'>} commit  may be hostile
 * @returns {Exported | null} null: no export made it
 */
export function exportedIn ({ message, author: committed }) {
  const end = message.lastIndexOf('\n\n')
  const matches = message.slice(end + 2).split('\n').map((line) => TRAILER.exec(line))
  if (end === -1 || matches.some((match) => match === null)) return null
  const trailers = new Map(matches.map((match) => [match?.[1], match?.[2] ?? '']))
  try {
    const textOf = (/** @type {string} */ name) => parsed(trailers.get(name))
    const at = new Date(textOf('Time') ?? NaN)
    if (Number.isNaN(at.getTime())) return null
    const said = { summary: textOf('Summary') ?? message.slice(0, end), author: textOf('Author') ?? committed, at }
    const [page, revision, picture] = [textOf('Page'), textOf('Revision') ?? '', textOf('Picture')]
    if (page !== undefined && NUMBER.test(revision)) {
      const [history, sameLinks] = [textOf('History') ?? page, trailers.has('Picture-Links')]
      return { ...said, page, revision: Number(revision), history, sameLinks }
    }
    if (picture !== undefined) return { ...said, picture }
    return trailers.has('Former-Names') ? { ...said, formerNames: Number(textOf('Former-Names')) } : null
  } catch {
    return null
  }
}

/** @param {string} text */
const valueOf = (text) => NOT_PLAIN.test(text) ? JSON.stringify(text) : text

/** @param {string | undefined} value @returns {string | undefined} @throws {Error} */
function parsed (value) {
  if (!value?.startsWith('"')) return value
  return String(JSON.parse(value))
}
