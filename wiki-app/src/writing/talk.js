import createError from '@fastify/error'
import { currentRevision } from '../pages/head.js'
import { StaleEdit, basePrecondition } from '../pages/preconditions.js'
import { readableTime } from '../readable.js'
import { plainTitle } from './sections.js'

/** @import {Attribution} from '../pages/commit.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {Sections} from './sections.js' */

const TopicGone = createError(
  'WIKI_TOPIC_GONE', 'The topic is not on this page any more. Copy your text, then add it as a new topic.', 409
)
const TooManyAtOnce = createError(
  'WIKI_TALK_BUSY', 'Many people are writing on this page just now. Nothing is lost: send it again.', 409
)

/** Of several people who write at once, one succeeds at each. */
const ATTEMPTS_MAX = 20

/** What Markdown, or an extension of it, reads within a line. */
const SIGNS = /[\\`*_[\]<>&$#~|=^!{}]/g

/**
 * `topic`: the title of a new one. `section`: the number of the one that is replied to, in that revision.
 * @typedef {{topic: string} | {section: string, revision: string}} Place
 */

/** @param {{store: Pick<PageStore, 'findSource' | 'save'>, sections: Sections}} parts */
export function createTalk ({ store, sections }) {
  /**
   * Adds what somebody says; what others add at the same time is kept. One revision.
   * @param {string} name  of a talk page, written or not @param {Place} place @param {string} text  Markdown
   * @param {string | undefined} author
   * @returns {Promise<{revision: number, id: string}>} `id`: of the topic's heading
   * @throws {Error} 409: the topic is gone, or too many write at once; as `store.save`
   */
  return async function say (name, place, text, author) {
    const message = messageOf(text, author, new Date())
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const page = await store.findSource(name)
      const { content, id, summary } = 'topic' in place
        ? await withTopic(page?.content ?? '', place.topic, message)
        : await withReply(page, place, message)
      try {
        const { revision } = await store.save(
          name, { content }, { author, summary }, basePrecondition(currentRevision(page)))
        return { revision, id }
      } catch (error) {
        if (!(error instanceof StaleEdit)) throw error
      }
    }
    throw new TooManyAtOnce()
  }

  /** @param {string} before @param {string} topic @param {string} message */
  async function withTopic (before, topic, message) {
    const content = `${before.trimEnd()}${before.trim() === '' ? '' : '\n\n'}## ${escaped(topic)}\n\n${message}\n`
    return { content, id: await sections.lastId(content), summary: readable('New topic: ', topic) }
  }

  /** @param {import('../pages/read-pages.js').PageSource | null} page @param {Exclude<Place, {topic: string}>} place */
  async function withReply (page, place, /** @type {string} */ message) {
    const found = page && await sections.find(page, place)
    if (page === null || found === null) throw new TopicGone()
    const edit = { section: String(found.number), revision: page.revision, text: `${found.text}\n\n${message}` }
    return { ...await sections.spliced(page._id, edit), summary: readable('Reply to: ', found.title) }
  }
}

/** @typedef {ReturnType<typeof createTalk>} Say */

/**
 * In a quote nothing ends its block: no heading, list or fence of one message reaches into another, or into what the
 * wiki says of its author.
 * @param {string} text  Markdown @param {string | undefined} author @param {Date} at
 */
function messageOf (text, author, at) {
  const lines = text.trim().split(/\r\n|\r|\n/).map((line) => line.trim() === '' ? '>' : `> ${line}`)
  const name = author ? `**${escaped(author)}**` : 'without a name'
  return `${lines.join('\n')}\n\n— ${name}, ${readableTime(at.toISOString())}`
}

/** @param {string} what @param {string} title */
const readable = (what, title) => `${what}${plainTitle(title)}`

/** As it is written, in one line. @param {string} text */
const escaped = (text) => text.trim().replace(/\s+/gu, ' ').replace(SIGNS, '\\$&')
