import { changeItem, whatChanged } from '../history/change-item.js'
import { sha256 } from '../access/users.js'
import { counted, readableTime } from '../readable.js'
import { renderMail } from '../views.js'
import { WATCHING_URL } from '../watching/addresses.js'
import { confirmUrl, stopUrl } from './addresses.js'

/** @import {BytesBefore, RevisionItem} from '../history/history.js' */
/** @import {Mail} from '../mail/mailer.js' */
/** @import {Digest, Interval} from './model.js' */

/** Line ends, other control characters, and those that turn the direction of what follows. */
const NOT_IN_A_LINE = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu
const EVERY = { daily: 'once a day', hourly: 'once an hour' }

/**
 * Headers have nothing that a reader wrote but the address, see mail/address.js.
 * @param {{root: string}} parts  `root`: scheme and host of the wiki
 */
export function createMessages ({ root }) {
  const { host, hostname } = new URL(root)

  return {
    /**
     * The same id for the same changes of a person: a mailbox can drop the second of two.
     * @param {Digest} digest @param {Date} upTo
     * @param {{items: RevisionItem[], more: boolean, bytesBefore: (item: RevisionItem) => BytesBefore}} changes
     * @returns {Mail}
     */
    digest ({ _id: user, address, every, stop, sent_up_to: from }, upTo, { items, more, bytesBefore }) {
      const data = {
        host,
        items: items.map((item) => lineItem(root, item, bytesBefore(item))),
        count: more ? `more than ${counted(items.length, 'change')}` : counted(items.length, 'change'),
        moreUrl: more ? root + WATCHING_URL : null,
        since: readableTime(from.toISOString()),
        listUrl: root + WATCHING_URL,
        stopUrl: root + stopUrl(stop),
        every: EVERY[every]
      }
      const id = sha256(JSON.stringify([user, stop, from.getTime(), upTo.getTime()])).slice(0, 32)
      return {
        to: address,
        subject: `${host}: ${data.count} of what you watch`,
        text: digestText(data),
        html: renderMail('digest-mail', data),
        messageId: `digest.${id}@${hostname.replace(/[[\]]/g, '')}`,
        unsubscribeUrl: data.stopUrl
      }
    },

    /** @param {{address: string, every: Interval, user: string, secret: string}} wish @returns {Mail} */
    confirmation: ({ address, every, user, secret }) => ({
      to: address,
      subject: `${host}: confirm your mail address`,
      text: [
        `“${oneLine(user)}” wants to get mail at this address ${EVERY[every]}: the changes of watched pages in the ` +
          `wiki ${host}.`,
        '',
        'If that is you, open this link within a day, and press the button there:',
        '',
        root + confirmUrl(secret),
        '',
        'If not, do nothing: no other mail comes.',
        ''
      ].join('\n')
    })
  }
}

/** @typedef {ReturnType<typeof createMessages>} Messages */

/** @param {string} text */
const oneLine = (text) => text.replace(NOT_IN_A_LINE, ' ')

/** @param {string} root @param {RevisionItem} item @param {BytesBefore} bytesBefore */
function lineItem (root, item, bytesBefore) {
  const { page, author, time, differenceUrl, revisionUrl, historyUrl, erased } = changeItem(item)
  return {
    page: oneLine(page),
    author: oneLine(author) || 'without a name',
    time,
    whatChanged: oneLine(whatChanged(item, bytesBefore)),
    url: root + (erased ? historyUrl : differenceUrl ?? revisionUrl)
  }
}

/**
 * @typedef {{page: string, author: string, time: string, whatChanged: string, url: string}} LineItem
 * @param {{host: string, count: string, since: string, every: string, items: LineItem[], moreUrl: string | null,
 *   listUrl: string, stopUrl: string}} data
 */
const digestText = ({ host, count, since, every, items, moreUrl, listUrl, stopUrl }) => [
  `${count[0].toUpperCase()}${count.slice(1)} of what you watch in ${host} since ${since}.`,
  '',
  ...items.flatMap(({ page, author, time, whatChanged, url }) => [page, `${time}, ${author}`, whatChanged, url, '']),
  ...moreUrl === null ? [] : [`And more: ${moreUrl}`, ''],
  // https://www.rfc-editor.org/rfc/rfc3676#section-4.3
  '-- ',
  `You get this ${every}, if something changed. What you watch: ${listUrl}`,
  `To end these mails: ${stopUrl}`,
  ''
].join('\n')
