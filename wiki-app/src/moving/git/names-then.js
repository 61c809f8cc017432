/** @import {ClientSession, Db} from 'mongodb' */

/** Rename-page.js writes it; authors may write it, too. */
const RENAMED = /^Renamed from “/
const ENDS = /”(?=$|: )/g
const AT_ONCE = 1_000

/**
 * @typedef {{to: string, revision: number}} Former  a name that redirects, since that revision of its page
 * @typedef {{revision: number, from: string}} Renaming
 */

/**
 * A revision has no name, only the key of its history (pages/histories.js). What a page was called before shows in the
 * summaries of its renamings, as far as former names agree.
 * @param {Db} db @param {ClientSession} session
 * @returns {Promise<{nameAt: (history: string, revision: number) => string, formers: Map<string, Former>}>} by name
 */
export async function readNames (db, session) {
  const pages = /** @type {import('mongodb').Collection<any>} */ (db.collection('pages'))
  /** The page's name now, by its key. @type {Map<string, string>} */
  const current = new Map()
  const renamed = pages.find({ history: { $gt: '' } }, { session, projection: { history: 1 } })
  for await (const { _id, history } of renamed) current.set(history, _id)
  /** @type {Map<string, Former>} */
  const formers = new Map()
  const redirects = pages.find({ redirect_to: { $gt: '' } }, { session, projection: { redirect_to: 1, revision: 1 } })
  for await (const { _id, redirect_to: to, revision } of redirects.sort({ _id: 1 })) formers.set(_id, { to, revision })

  const keys = new Map([...current].map(([key, name]) => [name, key]))
  const histories = new Set(current.keys())
  for (const name of formers.keys()) {
    const last = endOf(name, formers)
    histories.add(keys.get(last) ?? last)
  }
  const said = await renamingsOf([...histories], db, session)
  const exist = await existing(new Set([...said.values()].flat().flatMap(({ names }) => names)), db, session)
  /** @type {Map<string, Renaming[]>} */
  const renamings = new Map()
  for (const [history, candidates] of said) {
    renamings.set(history, agreed(history, candidates, { now: current.get(history) ?? history, formers, exist }))
  }
  return {
    formers,
    nameAt (history, revision) {
      const next = renamings.get(history)?.find((renaming) => renaming.revision > revision)
      return next?.from ?? current.get(history) ?? history
    }
  }
}

/** @param {string} name @param {Map<string, Former>} formers */
function endOf (name, formers) {
  const seen = new Set()
  let last = name
  for (let next = formers.get(last); next !== undefined && !seen.has(last); next = formers.get(last)) {
    seen.add(last)
    last = next.to
  }
  return last
}

/** `names`: that the summary may mean. @typedef {{revision: number, names: string[]}} Candidate */

/** @param {string[]} histories @param {Db} db @param {ClientSession} session */
async function renamingsOf (histories, db, session) {
  /** @type {Map<string, Candidate[]>} */
  const found = new Map()
  for (let at = 0; at < histories.length; at += AT_ONCE) {
    const filter = { page: { $in: histories.slice(at, at + AT_ONCE) }, summary: RENAMED }
    const projection = { page: 1, revision: 1, summary: 1 }
    for await (const { page, revision, summary } of
      db.collection('revisions').find(filter, { session, projection }).sort({ page: 1, revision: 1 })) {
      const names = [...summary.matchAll(ENDS)].map(({ index }) => summary.slice('Renamed from “'.length, index))
      const list = found.get(page) ?? []
      list.push({ revision, names })
      found.set(page, list)
    }
  }
  return found
}

/** @param {Set<string>} names @param {Db} db @param {ClientSession} session @returns {Promise<Set<string>>} */
async function existing (names, db, session) {
  const pages = /** @type {import('mongodb').Collection<any>} */ (db.collection('pages'))
  const [all, found] = [[...names], new Set()]
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const filter = { _id: { $in: all.slice(at, at + AT_ONCE) } }
    for await (const { _id } of pages.find(filter, { session, projection: { _id: 1 } })) found.add(_id)
  }
  return found
}

/**
 * @param {string} history @param {Candidate[]} candidates  in order
 * @param {{now: string, formers: Map<string, Former>, exist: Set<string>}} known
 * @returns {Renaming[]} that fit together
 */
function agreed (history, candidates, { now, formers, exist }) {
  /** @type {Renaming[]} */
  const renamings = []
  // A key with a backslash is no name; null: any.
  let name = history.includes('\\') ? null : history
  for (const [index, { revision, names }] of candidates.entries()) {
    const from = names.find((each) => exist.has(each) && (name === null || each === name))
    const former = from === undefined ? undefined : formers.get(from)
    if (from === undefined || (from === now && index === candidates.length - 1)) continue
    renamings.push({ revision, from })
    name = former?.revision === revision ? former.to : null
  }
  return renamings
}
