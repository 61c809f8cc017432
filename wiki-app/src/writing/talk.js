import createError from '@fastify/error'
import { currentRevision } from '../pages/head.js'
import { StaleEdit, basePrecondition } from '../pages/preconditions.js'
import { pageOfTalk } from '../pages/talk.js'
import { createKeyedMutex } from '../process/keyed-mutex.js'
import { readableTime } from '../readable.js'
import { OpenBefore, plainTitle } from './sections.js'

/** @import {Attribution} from '../pages/commit.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {Sections} from './sections.js' */

const TopicGone = createError(
  'WIKI_TOPIC_GONE', 'The topic is not on this page any more. Copy your text, then add it as a new topic.', 409
)
const TooManyAtOnce = createError(
  'WIKI_TALK_BUSY', 'Many people are writing on this page just now. Nothing is lost: send it again.', 409
)
const Defines = createError(
  'WIKI_MESSAGE_DEFINES',
  'A line such as “[name]: address” would change links in messages of others, so a message has none. ' +
    'Write [text](address) at each link instead, or \\[name]: for these characters themselves.',
  422
)
/** Each is a rendering of the page. In one process they take turns; of several processes, one succeeds at each. */
const ATTEMPTS_MAX = 8

/** A form that is sent again for so long, by a double click or as its answer was lost, adds nothing. */
const AGAIN_MAX_MINUTES = 10
const MINUTE_MS = 60_000

/** A name may lead to one that leads on. */
const RENAMINGS_MAX = 10

/** What Markdown, or an extension of it, reads within a line. */
const SIGNS = /[\\`*_[\]<>&$#~|=^!{}]/g

/**
 * `topic`: the title of a new one. `section`: the number of the one that is replied to, in that revision.
 * @typedef {{topic: string} | {section: string, revision: string}} Place
 */

/** @param {{store: Pick<PageStore, 'findSource' | 'findRedirect' | 'save'>, sections: Sections}} parts */
export function createTalk ({ store, sections }) {
  const inTurn = createKeyedMutex()

  /**
   * Adds what somebody says; what others add at the same time is kept. One revision.
   * @param {string} asked  of a talk page, written or not, or a former name of one @param {Place} place
   * @param {string} text  Markdown @param {Attribution} by
   * @returns {Promise<{name: string, revision: number, id: string}>} `id`: of the topic's heading
   * @throws {Error} 409: the topic is gone, or too many write at once; 422: what is open would swallow it, or it
   *   defines addresses of links; as `store.save`
   */
  return async function say (asked, place, text, by) {
    const messages = messagesOf(text, by.author, new Date())
    if (await sections.definesLinks(messages[0])) throw new Defines()
    return inTurn(asked, async () => {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        const said = await saidOnce(asked, place, messages, by)
        if (said !== null) return said
      }
      throw new TooManyAtOnce()
    })
  }

  /**
   * @param {string} asked @param {Place} place @param {string[]} messages @param {Attribution} by
   * @returns {Promise<{name: string, revision: number, id: string} | null>} null: somebody else was faster
   */
  async function saidOnce (asked, place, messages, by) {
    const { name, page } = await talkPage(asked)
    const { content, id, summary, again } = 'topic' in place
      ? await withTopic(name, page?.content ?? '', place.topic, messages)
      : await withReply(page, place, messages)
    if (again) return { name, revision: currentRevision(page), id }
    const isAsSeen = basePrecondition(currentRevision(page))
    try {
      const { revision } = await store.save(name, { content }, { ...by, summary }, (head) => {
        isAsSeen(head)
        if (isFormer(head?.redirect_to)) throw new StaleEdit()
      })
      return { name, revision, id }
    } catch (error) {
      if (error instanceof StaleEdit) return null
      throw error
    }
  }

  /** @param {string} name  of a talk page, or a former one */
  async function talkPage (name) {
    for (let renamings = 0; ; renamings++) {
      const page = await store.findSource(name)
      const renamed = page === null && renamings < RENAMINGS_MAX ? await store.findRedirect(name) : null
      if (!isFormer(renamed)) return { name, page }
      name = renamed
    }
  }

  /** @param {string} name @param {string} before @param {string} topic @param {string[]} messages */
  async function withTopic (name, before, topic, messages) {
    const [added, ...earlier] = messages.map((message) => `## ${escaped(topic)}\n\n${message}`)
    const last = await sections.last(before)
    const again = last !== null && [added, ...earlier].includes(last.text.trimEnd())
    if (again) return { content: before, id: last.id, summary: '', again }
    const content = `${before.trimEnd()}${before.trim() === '' ? '' : '\n\n'}${added}\n`
    const shown = await sections.last(content)
    if (shown?.text !== added) throw new OpenBefore(name)
    return { content, id: shown.id, summary: readable('New topic: ', topic), again }
  }

  /**
   * @param {import('../pages/read-pages.js').PageSource | null} page @param {Exclude<Place, {topic: string}>} place
   * @param {string[]} messages
   */
  async function withReply (page, place, messages) {
    const [message] = messages
    const replied = page && await sections.appended(page, place, message)
    if (replied === null) throw new TopicGone()
    const again = messages.some((earlier) => replied.content.includes(`\n\n${earlier}\n\n${message}`))
    return { ...replied, summary: readable('Reply to: ', replied.title), again }
  }
}

/** @typedef {ReturnType<typeof createTalk>} Say */

/**
 * In a quote nothing ends its block: no heading, list or fence of one message reaches into another, or into what the
 * wiki says of its author.
 * @param {string} text  Markdown @param {string | undefined} author @param {Date} at
 * @returns {string[]} the message, and as it would have been in the minutes before
 */
function messagesOf (text, author, at) {
  const lines = text.trim().split(/\r\n|\r|\n/).map((line) => line.trim() === '' ? '>' : `> ${line}`)
  const name = author ? `**${escaped(author)}**` : 'without a name'
  return Array.from({ length: 1 + AGAIN_MAX_MINUTES }, (_, minutes) => {
    const time = new Date(at.getTime() - minutes * MINUTE_MS).toISOString()
    return `${lines.join('\n')}\n\n— ${name}, ${readableTime(time)}`
  })
}

/**
 * Of a page that went elsewhere, the old name is free for a new talk.
 * @param {string | null | undefined} redirect @returns {redirect is string}
 */
const isFormer = (redirect) => redirect != null && pageOfTalk(redirect) !== null

/** @param {string} what @param {string} title */
const readable = (what, title) => `${what}${plainTitle(title)}`

/** As it is written, in one line. @param {string} text */
const escaped = (text) => text.trim().replace(/\s+/gu, ' ').replace(SIGNS, '\\$&')
