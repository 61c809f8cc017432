import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { countsOf } from './counts.js'
import { createHistories, historyOf, newHistory } from './histories.js'
import { currentRevision, HEAD_FIELDS, kindOf, linkTargetsOf, NO_TEXT } from './head.js'
import { PageReviewed } from '../protection/guard.js'
import { searchKey } from './search-key.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Commit, Edit, WriteContext, Written} from './commit.js' */
/** @import {Head} from './head.js' */
/** @import {Page} from './model.js' */

/** `refusal`: what its precondition threw; nothing of the edit is written. @typedef {{refusal: unknown}} Refused */
/** @typedef {ReturnType<typeof createWriteEdits>} WriteEdits */

/**
 * An edit that is accepted, with the page's state before, and its values after.
 * @typedef {{edit: Edit, before: Head | null, revision: number, history: string, links: string[], tags: string[]}}
 *   Accepted
 */

/** @param {WriteContext} context */
export function createWriteEdits (context) {
  const { models: { Pages, Revisions }, later, purges, fanOut, guard } = context
  const writePages = createWritePages(context)
  const commitOf = createCommitOf(context)
  const histories = createHistories(context.models)

  /**
   * Writes edits of different pages. It needs some six commands, however many edits there are; pages that come or go
   * need some more each.
   * @param {Edit[]} edits  no two of the same page
   * @param {ClientSession} session  with a transaction that has a snapshot: a page that changes meanwhile aborts it
   * @returns {Promise<(Written | Refused)[]>} in the order of `edits`; a refused edit leaves the others alone
   */
  return async function writeEdits (edits, session) {
    const heads = await headsOf(edits.map(({ name }) => name), session)
    const stored = await storedOf(edits.filter(({ mayBeStored }) => mayBeStored), heads, session)
    const sourceOf = await sourcesOf(Revisions, edits, session)
    const refusals = await guard.refusals(edits.map(({ name, attribution: { role } }) => ({ name, role })), session)
    const outcomes = edits.map((edit) => {
      const head = heads.get(edit.name) ?? null
      const revision = stored.get(edit.saveId)
      if (revision !== undefined) return { revision, before: head }
      const refusal = refusals.get(edit.name)
      if (refusal !== undefined && !(refusal instanceof PageReviewed)) return { refusal }
      const outcome = outcomeOf(edit, head, sourceOf(edit))
      if (refusal === undefined || 'refusal' in outcome) return outcome
      // A proposal is based on what its author has seen: a stale one is merged first.
      return { refusal: Object.assign(refusal, { baseRevision: currentRevision(head) }) }
    })
    const accepted = outcomes.flatMap((outcome) => 'edit' in outcome ? [outcome] : [])
    if (accepted.length > 0) await write(accepted, session)
    return outcomes.map((outcome) =>
      'refusal' in outcome ? outcome : { revision: outcome.revision, before: outcome.before })
  }

  /**
   * A page may have been renamed since.
   * @param {Edit[]} edits @param {Map<string, Head>} heads @param {ClientSession} session
   * @returns {Promise<Map<string | undefined, number>>} revisions that an earlier attempt has stored, by `saveId`
   */
  async function storedOf (edits, heads, session) {
    if (edits.length === 0) return new Map()
    const names = edits.map(({ name }) => heads.get(name)?.redirect_to ?? name)
    const keys = [...(await histories.keysOf(names, session)).values()]
    const filter = { page: { $in: keys }, save_id: { $in: edits.map(({ saveId = '' }) => saveId) } }
    const found = await driverOf(Revisions)
      .find(filter, { projection: { save_id: 1, revision: 1 }, session, batchSize: edits.length + 1 })
      .toArray()
    return new Map(found.map(({ save_id: saveId, revision }) => [saveId, revision]))
  }

  /** @param {string[]} names @param {ClientSession} session @returns {Promise<Map<string, Head>>} */
  async function headsOf (names, session) {
    const found = await driverOf(Pages)
      .find({ _id: { $in: names } }, { projection: HEAD_FIELDS, session, batchSize: names.length + 1 })
      .toArray()
    return new Map(found.map((head) => [head._id, /** @type {Head} */ (head)]))
  }

  /** @param {Accepted[]} accepted @param {ClientSession} session */
  async function write (accepted, session) {
    const now = new Date()
    const missing = afterEdits(await writePages(accepted, now, session), accepted)
    const revisions = accepted.map((each) => revisionOf(each, now))
    await driverOf(Revisions).insertMany([...accepted.flatMap(pastOf), ...revisions], { session })
    const counts = accepted.flatMap((each) => countsOf(countedOf(each, missing)))
    /** @type {Commit[]} */
    const commits = []
    // One after the other: a session runs one command at a time.
    for (const each of accepted) {
      commits.push(await commitOf(each, session))
      await each.edit.along?.(session, { name: each.edit.name, revision: each.revision })
    }
    await later([...counts, ...purges.ofCommits(commits)], session)
    // What was written elsewhere, some time ago, is no news for those that watch.
    const changed = accepted.flatMap(({ edit: { name, attribution: { author = '' }, past }, history }, at) =>
      past ? [] : [{ name, page: history, author, revision: revisions[at]._id }])
    await fanOut(changed, later, session)
  }
}

/** @param {WriteContext} context */
function createWritePages ({ models: { Pages }, targets, currentHtml }) {
  /**
   * @param {Accepted[]} accepted @param {Date} now @param {ClientSession} session
   * @returns {Promise<Set<string>>} links to nothing, as the pages show them
   */
  return async function writePages (accepted, now, session) {
    const linked = new Set(accepted.flatMap(({ links }) => links))
    // Where it matters which page has a link, each edit is a transaction.
    const missing = await targets.missing([...linked], session, accepted[0].edit.name)
    await driverOf(Pages).bulkWrite(accepted.map((each) => {
      const { past } = each.edit
      const state = stateAfter(each, past?.at ?? now, missing)
      const createdAt = past?.revisions[0]?.at ?? past?.at ?? now
      const onInsert = { created_at: createdAt, ...state.tags === undefined && { tags: [] } }
      return {
        updateOne: {
          filter: { _id: each.edit.name },
          update: {
            $set: { ...state, revision: each.revision, ...each.before?.redirect_to && { history: each.history } },
            $setOnInsert: onInsert
          },
          upsert: each.before === null
        }
      }
    }), { session, ordered: false })
    return missing
  }

  /** @param {Accepted} accepted @param {Date} now @param {Set<string>} missing @returns {Partial<Page>} */
  function stateAfter ({ edit: { name, change: { content, contentBytes, tags }, rendered } }, now, missing) {
    if (rendered === null) return { deleted_at: now, redirect_to: null, links: [], tags: [], ...NO_TEXT }
    return {
      search_key: searchKey(name),
      content,
      content_bytes: contentBytes,
      links: rendered.links,
      modified_at: now,
      deleted_at: null,
      redirect_to: null,
      ...tags && { tags },
      ...currentHtml.storedFields(name, rendered, now, missing)
    }
  }
}

/** @param {WriteContext} context */
function createCommitOf ({ targets, subpages }) {
  /** @param {Accepted} accepted @param {ClientSession} session @returns {Promise<Commit>} */
  return async function commitOf ({ edit, before, revision, links, tags }, session) {
    const { name, attribution: { author = '' }, rendered, past } = edit
    const deleted = rendered === null
    const linking = await targets.setKind(session, name, deleted ? null : 'page', kindOf(before))
    const listed = deleted || currentRevision(before) === 0
    const cameOrWent = deleted ? { went: [name] } : { came: [{ _id: name, subpages_hash: before?.subpages_hash }] }
    return {
      name,
      revision,
      authors: [...new Set([author, ...past?.revisions.map((each) => each.author) ?? []])],
      tags: [...new Set([...before?.tags ?? [], ...tags])],
      linking,
      links: symmetricDifference(before?.links ?? [], links),
      listed,
      above: listed ? await subpages.update(session, cameOrWent) : []
    }
  }
}

/**
 * @param {import('./model.js').Models['Revisions']} Revisions @param {Edit[]} edits @param {ClientSession} session
 * @returns {Promise<(edit: Edit) => import('./commit.js').Source>}
 */
async function sourcesOf (Revisions, edits, session) {
  const sources = edits.flatMap(({ source }) => source ?? [])
  const filter = {
    page: { $in: sources.map(({ history }) => history) }, _id: { $in: sources.map(({ _id }) => _id) }
  }
  const found = sources.length === 0
    ? []
    : await driverOf(Revisions)
      .find(filter, { projection: { erased_at: 1 }, session, batchSize: sources.length + 1 })
      .toArray()
  const byId = new Map(found.map((revision) => [String(revision._id), revision]))
  return ({ source }) => byId.get(String(source?._id)) ?? null
}

/**
 * @param {Edit} edit @param {Head | null} before @param {import('./commit.js').Source} source
 * @returns {Accepted | Refused}
 */
function outcomeOf (edit, before, source) {
  try {
    edit.precondition(before, source)
  } catch (refusal) {
    return { refusal }
  }
  const { change, rendered } = edit
  return {
    edit,
    before,
    revision: (before?.revision ?? 0) + (edit.past?.revisions.length ?? 0) + 1,
    // The page that had the name before has taken its history along.
    history: before === null ? edit.name : historyOf(before) ?? newHistory(),
    links: rendered?.links ?? [],
    tags: rendered === null ? [] : change.tags ?? before?.tags ?? []
  }
}

/** @param {Accepted} accepted @param {Date} now */
function revisionOf ({ edit, before, revision, history, tags }, now) {
  const { change, attribution: { author = '', summary = '' }, rendered, saveId, past } = edit
  return {
    _id: past?.id ?? new mongoose.Types.ObjectId(),
    page: history,
    revision,
    follows: past && past.revisions.length > 0 ? revision - 1 : followedBy(before),
    content: change.content,
    content_bytes: change.contentBytes,
    tags,
    author,
    summary,
    deleted: rendered === null,
    created_at: past?.at ?? now,
    ...saveId !== undefined && { save_id: saveId }
  }
}

/** @param {Head | null} before @returns {number | null} the revision that the next one follows */
const followedBy = (before) => before === null || before.redirect_to ? null : before.revision

/** @param {Accepted} accepted @returns {ReturnType<typeof revisionOf>[]} revisions before that of `revisionOf` */
function pastOf ({ edit: { past }, before, revision, history }) {
  const first = revision - (past?.revisions.length ?? 0)
  return (past?.revisions ?? []).map(({ id, at, contentBytes, saveId, ...others }, index) => ({
    ...others,
    _id: id,
    page: history,
    revision: first + index,
    follows: index === 0 ? followedBy(before) : first + index - 1,
    content_bytes: contentBytes,
    created_at: at,
    save_id: saveId
  }))
}

/**
 * Pages that link to one of these are marked, so they will show it so.
 * @param {Set<string>} missing  before @param {Accepted[]} accepted
 */
function afterEdits (missing, accepted) {
  const after = new Set(missing)
  for (const { edit: { name, rendered } } of accepted) {
    if (rendered === null) after.add(name)
    else after.delete(name)
  }
  return after
}

/** @param {Accepted} accepted @param {Set<string>} missing @returns {import('./counts.js').Counted} */
const countedOf = ({ edit: { name }, before, links, tags }, missing) => ({
  name,
  links: [{ before: linkTargetsOf(before), after: linkTargetsOf({ _id: name, links }) }],
  tags: { before: before?.tags ?? [], after: tags },
  missing
})

/** @param {string[]} some @param {string[]} others */
function symmetricDifference (some, others) {
  const [before, after] = [new Set(some), new Set(others)]
  return [...some.filter((name) => !after.has(name)), ...others.filter((name) => !before.has(name))]
}
