import { driverOf } from '../database/driver.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Entry, Task} from '../queue/entries.js' */
/** @import {SmallWork} from '../queue/together.js' */
/** @import {Later} from '../queue/queue.js' */
/** @import {Purges} from './commit.js' */
/** @import {LinkTargets} from './link-targets.js' */
/** @import {Models} from './model.js' */

/** The kind of work. */
export const COUNTS = 'counts'

/** Of the names that a page links to, or of its tags. @typedef {{before: string[], after: string[]}} Change */
/** So many more, or fewer if negative, of each name. @typedef {[name: string, by: number][]} Steps */

/**
 * What an edit changed in what others count.
 * @typedef {object} Counted
 * @property {string} name  of the page
 * @property {Change[]} links
 * @property {Change} [tags]
 * @property {Set<string>} [missing]  as the page's new HTML shows its links; absent: not known, so it is marked
 */

/** `missing`: of the new links. @typedef {{links: Steps, tags: Steps, missing: string[] | null}} Content */

/** @param {Counted} counted @returns {Task[]} one, or none where nothing is to be counted */
export function countsOf ({ name, links, tags = { before: [], after: [] }, missing }) {
  const content = {
    links: links.flatMap(stepsOf),
    tags: stepsOf(tags),
    missing: /** @type {string[] | null} */ (null)
  }
  const weight = content.links.length + content.tags.length
  if (weight === 0) return []
  if (missing) content.missing = content.links.flatMap(([link, by]) => by > 0 && missing.has(link) ? [link] : [])
  return [{ kind: COUNTS, name, content, weight }]
}

/**
 * Counts after the edits what their transactions would fight for: everyone links to the same few pages.
 *
 * A page that starts to link to another one and an edit that creates or deletes that one may both be committed without
 * having seen each other. The count writes to the document in `targets` that the other edit writes to, too. So one of
 * these two transactions comes after the other, and the count sees what exists, or is done again.
 * @param {Models} models @param {{targets: LinkTargets, later: Later, purges: Purges}} parts
 * @returns {SmallWork}
 */
export function createCounting (models, { targets, later, purges }) {
  /** @param {Entry[]} entries @param {ClientSession} session */
  async function together (entries, session) {
    /** @type {(Content & {name: string})[]} */
    const contents = entries.map(({ name, content }) => ({ name, ...content }))
    await count(models, contents, session)
    const outdated = await outdatedOf(contents, session)
    await targets.markOutdated(outdated, session)
    await later(purges.ofCounted({
      links: contents.some(({ links }) => links.length > 0),
      tags: contents.some(({ tags }) => tags.length > 0),
      pages: outdated
    }), session)
  }

  /**
   * @param {(Content & {name: string})[]} contents @param {ClientSession} session
   * @returns {Promise<string[]>} pages that show a new link otherwise than it is
   */
  async function outdatedOf (contents, session) {
    const unknown = contents.flatMap(({ name, links, missing }) =>
      missing === null && links.some(([, by]) => by > 0) ? [name] : [])
    const shown = contents.flatMap(({ name, links, missing }) => {
      const wasMissing = new Set(missing)
      return missing === null
        ? []
        : links.flatMap(([link, by]) => by > 0 ? [{ page: name, link, isMissing: wasMissing.has(link) }] : [])
    })
    const wrong = await targets.wrong(shown, session)
    return [...new Set([...unknown, ...wrong.map(({ page }) => page)])]
  }

  return { together, finished: purges.added }
}

/** @param {Models} models @param {Pick<Content, 'links' | 'tags'>[]} contents @param {ClientSession} session */
async function count ({ Targets, Tags }, contents, session) {
  const ofTargets = { Model: Targets, field: 'sources', unused: { is: null }, onInsert: { is: null } }
  await add(ofTargets, contents.flatMap(({ links }) => links), session)
  await add({ Model: Tags, field: 'pages' }, contents.flatMap(({ tags }) => tags), session)
}

/**
 * In the transaction of the edit itself.
 * @param {Models} models @param {Counted} counted @param {ClientSession} session
 */
export const countNow = (models, counted, session) =>
  count(models, countsOf(counted).map(({ content }) => content), session)

/**
 * @param {{Model: import('mongoose').Model<any>, field: string, unused?: object, onInsert?: object}} counts
 *   `unused`: beside a count of 0, of the documents that are not needed
 * @param {Steps} steps @param {ClientSession} session
 */
async function add ({ Model, field, unused = {}, onInsert }, steps, session) {
  if (steps.length === 0) return
  const collection = driverOf(Model)
  const [more, fewer] = [sumsOf(steps.filter(([, by]) => by > 0)), sumsOf(steps.filter(([, by]) => by < 0))]
  // Apart, so that a document is written to also where the sum is 0.
  await collection.bulkWrite([...more, ...fewer].map(([name, by]) => ({
    updateOne: {
      filter: { _id: name },
      update: { $inc: { [field]: by }, ...(onInsert && { $setOnInsert: onInsert }) },
      upsert: true
    }
  })), { session })
  // Not those below 0: what an earlier edit added may be counted later.
  await collection.deleteMany({ _id: { $in: steps.map(([name]) => name) }, [field]: 0, ...unused }, { session })
}

/** @param {Steps} steps @returns {Steps} one for each name, in a fixed order: then writers do not wait in a circle */
function sumsOf (steps) {
  /** @type {Map<string, number>} */
  const sums = new Map()
  for (const [name, by] of steps) sums.set(name, (sums.get(name) ?? 0) + by)
  return [...sums].sort(([a], [b]) => a < b ? -1 : 1)
}

/** @param {Change} change @returns {Steps} */
function stepsOf ({ before, after }) {
  const [gone, added] = [minus(before, after), minus(after, before)]
  return [...gone.map((name) => /** @type {[string, number]} */ ([name, -1])), ...added.map((name) =>
    /** @type {[string, number]} */ ([name, 1]))]
}

/** @param {string[]} names @param {string[]} others */
function minus (names, others) {
  const set = new Set(others)
  return names.filter((name) => !set.has(name))
}
