import { setTimeout as delay } from 'node:timers/promises'
import { createRandom } from '@stevec/harness/random'

/** @typedef {import('./oracle.js').Edit} Edit */
/** @typedef {import('./oracle.js').Read} Read */

/** Few, so that editors conflict on pages, on counts of tags and on counts of links. */
const PAGES = 48
const MISSING = 24
const TAGS = Array.from({ length: 16 }, (_, index) => `tag ${index}`)
/** Readers observe; they must not slow down the editors. */
const READ_EVERY_MS = 50
/** Between two attempts while the wiki is down. */
const PAUSE_MS = 20

/**
 * Simulates editors who change a few pages concurrently, some based on the revision that they have read and some on
 * none, and records the outcome of each edit.
 * @param {object} options
 * @param {import('./client.js').Client} options.client
 * @param {number} options.seed
 * @param {number} options.editors  at once
 * @param {number} options.readers  at once
 */
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export function createEditors ({ client, seed, editors, readers }) {
  /** @type {Edit[]} */
  const edits = []
  /** @type {Read[]} */
  const reads = []
  /** Responses that no rule of the wiki explains, such as 500. @type {string[]} */
  const unexpected = []
  /** Requests that failed, though they were valid. @type {string[]} */
  const failed = []
  let answered = 0
  let lastMs = performance.now()
  let gapMs = 0
  let logicalTime = 0
  let acknowledged = 0
  let stopping = new AbortController()
  /** @type {Promise<void>[]} */
  let loops = []
  const random = createRandom(seed)
  const pick = (/** @type {number} */ below) => Math.floor(random() * below)
  const pageOf = (/** @type {number} */ index) => `torture/${index}`
  const urlOf = (/** @type {string} */ page) => `/api/v1/pages/${encodeURIComponent(page)}`

  /**
   * @param {string} page
   * @returns {Promise<number | null>} its revision, 0 for no page, null when the read failed
   */
  async function readRevision (page) {
    const started = ++logicalTime
    const { status, body } = await client.ask('GET', urlOf(page))
    answered++
    if (status === 404) return 0
    if (status !== 200) {
      failed.push(`GET: ${status}`)
      return null
    }
    const { revision } = JSON.parse(body)
    reads.push({ page, started, revision })
    return revision
  }

  /** @param {Edit} edit */
  async function send (edit) {
    const { id, page, kind, base } = edit
    const fields = { summary: id, author: `editor ${pick(editors)}`, ...(base !== null && { base_revision: base }) }
    if (kind === 'delete') {
      return client.ask('DELETE', `${urlOf(page)}?${new URLSearchParams(Object.entries(fields).map(([key, value]) => [key, String(value)]))}`)
    }
    const content =
      `${id} [[${pageOf(pick(PAGES))}]] [[nobody wrote ${pick(MISSING)}]]\n\n${'words and words '.repeat(pick(60))}`
    return client.ask('PUT', urlOf(page), { json: { ...fields, content, tags: TAGS.filter(() => random() < 0.1) } })
  }

  async function edit () {
    const page = pageOf(pick(PAGES))
    const chance = random()
    const kind = chance < 0.06 ? 'delete' : 'save'
    const base = random() < 0.4 ? await readRevision(page) : null
    if (kind === 'delete' && base === 0) return
    /** @type {Edit} */
    const edit = {
      id: `edit-${seed}-${edits.length}-`,
      page,
      kind,
      base,
      started: ++logicalTime,
      ended: Infinity,
      outcome: 'unknown',
      revision: null
    }
    edits.push(edit)
    const { status, headers, body } = await send(edit).catch((error) => {
      // No process received the edit.
      if (error.code === 'ECONNREFUSED') edit.outcome = 'refused'
      throw error
    })
    edit.ended = ++logicalTime
    answered++
    if (status === 200 || status === 201 || status === 204) {
      edit.outcome = 'acknowledged'
      edit.revision = status === 204 ? Number(headers['page-revision']) : JSON.parse(body).revision
      acknowledged++
      gapMs = Math.max(gapMs, performance.now() - lastMs)
      lastMs = performance.now()
    } else if (status === 404 || status === 412) {
      edit.outcome = 'refused'
    } else if (status !== 503 && status !== 502) {
      unexpected.push(`${status} ${body}`)
    }
    if (status < 500) return
    failed.push(`${kind}: ${status}`)
    await delay(PAUSE_MS)
  }

  /** @param {() => Promise<unknown>} work */
  async function repeat (work) {
    while (!stopping.signal.aborted) {
      try {
        await work()
      } catch (error) {
        failed.push(/** @type {Error} */ (error).message)
        if (
          /no answer/.test(/** @type {Error} */ (error).message)
        ) unexpected.push(/** @type {Error} */ (error).message)
        await delay(PAUSE_MS)
      }
    }
  }

  return {
    edits,
    reads,
    unexpected,
    failed,
    answered: () => answered,
    /** The longest time between two acknowledged edits, while the editors run. */
    gapMs: () => Math.round(gapMs),
    acknowledged: () => acknowledged,
    /** Starts all editors and readers, for the first time or again. */
    start () {
      stopping = new AbortController()
      lastMs = performance.now()
      loops = [
        ...Array.from({ length: editors }, () => repeat(edit)),
        ...Array.from({ length: readers }, () =>
          repeat(() => readRevision(pageOf(pick(PAGES))).then(() => delay(READ_EVERY_MS))))
      ]
    },
    /** Stops them; each completes its request in flight. */
    async stop () {
      stopping.abort()
      await Promise.all(loops)
    }
  }
}

/** @typedef {ReturnType<typeof createEditors>} Editors */
