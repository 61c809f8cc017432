import { t } from '../language.js'
import { changeItem, whatChanged } from '../history/change-item.js'
import { sha256 } from '../access/users.js'
import { readableTime } from '../readable.js'
import { oneLine, wikiOf } from '../mail/text.js'
import { renderMail } from '../views.js'
import { WATCHING_URL } from '../watching/addresses.js'
import { confirmUrl, stopUrl } from './addresses.js'

/** @import {BytesBefore, RevisionItem} from '../history/history.js' */
/** @import {Mail} from '../mail/mailer.js' */
/** @import {Digest, Interval} from './model.js' */

/**
 * Headers have nothing that a reader wrote but the address, see mail/address.js.
 * @param {{root: string}} parts  `root`: scheme and host of the wiki
 */
export function createMessages ({ root }) {
  const { host, hostname } = new URL(root)

  return {
    /**
     * The same id for the same changes of a person: a mailbox can drop the second of two. Of private pages it has a
     * number: a mail stays where it was sent, and cannot be taken back when a role ends.
     * @param {Digest} digest @param {Date} upTo
     * @param {{items: RevisionItem[], more: boolean, inSpaces: {count: number, more: boolean},
     *   bytesBefore: (item: RevisionItem) => BytesBefore}} changes
     * @returns {Mail}
     */
    digest ({ _id: user, address, every, stop, sent_up_to: from }, upTo, { items, more, inSpaces, bytesBefore }) {
      const name = wikiOf(host)
      const [count, isMore] = [items.length + inSpaces.count, more || inSpaces.more]
      const data = {
        items: items.map((item) => lineItem(root, item, bytesBefore(item))),
        summary: summaryOf(count, isMore, { wiki: name, since: readableTime(from.toISOString()) }),
        moreUrl: more ? root + WATCHING_URL : null,
        inSpaces: inSpacesText(inSpaces),
        listUrl: root + WATCHING_URL,
        stopUrl: root + stopUrl(stop),
        why: every === 'daily'
          ? t('You get this once a day, if something changed.')
          : t('You get this once an hour, if something changed.')
      }
      const id = sha256(JSON.stringify([user, stop, from.getTime(), upTo.getTime()])).slice(0, 32)
      return {
        to: address,
        subject: `${name}: ${subjectOf(count, isMore)}`,
        text: digestText(data),
        html: renderMail('digest-mail', data),
        messageId: `digest.${id}@${hostname.replace(/[[\]]/g, '')}`,
        unsubscribeUrl: data.stopUrl
      }
    },

    /** @param {{address: string, every: Interval, user: string, secret: string}} wish @returns {Mail} */
    confirmation: ({ address, every, user, secret }) => ({
      to: address,
      subject: `${wikiOf(host)}: ${t('confirm your mail address')}`,
      text: [
        every === 'daily'
          ? t('“{{user}}” wants to get mail at this address once a day: the changes of watched pages in {{wiki}}.',
            { user: oneLine(user), wiki: wikiOf(host) })
          : t('“{{user}}” wants to get mail at this address once an hour: ' +
            'the changes of watched pages in {{wiki}}.',
          { user: oneLine(user), wiki: wikiOf(host) }),
        '',
        t('If that is you, open this link within a day, and press the button there:'),
        '',
        root + confirmUrl(secret),
        '',
        t('If not, do nothing: no other mail comes.'),
        ''
      ].join('\n')
    })
  }
}

/** @typedef {ReturnType<typeof createMessages>} Messages */

/** @param {number} count @param {boolean} more */
const subjectOf = (count, more) => more
  ? t('more than {{count}} changes of what you watch', { count })
  : t('{{count}} changes of what you watch', { count })

/** @param {number} count @param {boolean} more @param {{wiki: string, since: string}} values */
const summaryOf = (count, more, values) => more
  ? t('More than {{count}} changes of what you watch in {{wiki}} since {{since}}.', { ...values, count })
  : t('{{count}} changes of what you watch in {{wiki}} since {{since}}.', { ...values, count })

/** @param {{count: number, more: boolean}} inSpaces @returns {string | null} null: nothing changed there */
function inSpacesText ({ count, more }) {
  if (count === 0) return null
  return more
    ? t('More than {{count}} changes in private spaces', { count })
    : t('{{count}} changes in private spaces', { count })
}

/** @param {string} root @param {RevisionItem} item @param {BytesBefore} bytesBefore */
function lineItem (root, item, bytesBefore) {
  const { page, author, time, differenceUrl, revisionUrl, historyUrl, erased } = changeItem(item)
  return {
    page: oneLine(page),
    author: oneLine(author) || t('without a name'),
    time,
    whatChanged: oneLine(whatChanged(item, bytesBefore)),
    url: root + (erased ? historyUrl : differenceUrl ?? revisionUrl)
  }
}

/**
 * @typedef {{page: string, author: string, time: string, whatChanged: string, url: string}} LineItem
 * @param {{summary: string, why: string, items: LineItem[], moreUrl: string | null, inSpaces: string | null,
 *   listUrl: string, stopUrl: string}} data
 */
const digestText = ({ summary, why, items, moreUrl, inSpaces, listUrl, stopUrl }) => [
  summary,
  '',
  ...items.flatMap(({ page, author, time, whatChanged, url }) => [page, `${time}, ${author}`, whatChanged, url, '']),
  ...moreUrl === null ? [] : [t('And more: {{url}}', { url: moreUrl }), ''],
  ...inSpaces === null ? [] : [`${inSpaces}: ${listUrl}`, ''],
  // https://www.rfc-editor.org/rfc/rfc3676#section-4.3
  '-- ',
  `${why} ${t('What you watch: {{url}}', { url: listUrl })}`,
  t('To end these mails: {{url}}', { url: stopUrl }),
  ''
].join('\n')
