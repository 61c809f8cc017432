import { userKey } from '../access/users.js'
import { driverOf } from '../database/driver.js'

/** @import {ClientSession, mongo} from 'mongoose' */
/** @import {Member, PeopleModels} from '../people/model.js' */
/** @import {PasswordMailModels} from './model.js' */

const HOUR_MS = 3_600_000
/** Mails with a link to one person: nobody fills a mailbox by asking again and again. */
const ASKED_MAX = 3
const ASKED_WITHIN_MS = 3 * HOUR_MS
/** Of everybody together: the server for mail keeps its good name. */
const PEOPLE_MAX = 100
/** People that share an address. */
const SHARING_MAX = 3
const CHANGED_KEPT_MS = 24 * HOUR_MS

/** Mail addresses that differ in case alone are one mailbox nearly everywhere. @param {string} address */
export const mailKey = (address) => address.toLowerCase()

/** Whether a link for a new password may be mailed. @param {Member} member */
export const mayGetLink = ({ mail, password, blocked_at: blockedAt }) =>
  mail !== undefined && password !== '' && blockedAt === null

/**
 * Which mails about passwords are to be sent.
 * @param {{models: PasswordMailModels & Pick<PeopleModels, 'Members'>, isInFile: (name: string) => boolean,
 *   added: () => void, log: Pick<import('fastify').FastifyBaseLogger, 'warn'>}} parts  `added`: there is one
 */
export function createRequests ({ models, isInFile, added, log }) {
  const members = driverOf(models.Members)
  const jobs = /** @type {mongo.Collection<any>} */ (driverOf(models.PasswordMails))

  /** @param {string} user  key @returns {Promise<boolean>} false: had too many, or everybody together */
  async function addLink (user) {
    const now = new Date()
    const agoMs = (/** @type {number} */ ms) => new Date(now.getTime() - ms)
    const isRecent = { kind: 'link', asked: { $gt: agoMs(HOUR_MS) } }
    if (await jobs.countDocuments(isRecent, { limit: PEOPLE_MAX }) === PEOPLE_MAX) {
      log.warn(`within an hour, ${PEOPLE_MAX} people got mails with links for new passwords: no more are sent now`)
      return false
    }
    const _id = `link ${user}`
    const expiresAt = new Date(now.getTime() + ASKED_WITHIN_MS)
    await jobs.updateOne({ _id }, {
      $pull: /** @type {any} */ ({ asked: { $lte: agoMs(ASKED_WITHIN_MS) } }),
      $setOnInsert: { kind: 'link', user, claim: null, failures: 0, expires_at: expiresAt }
    }, { upsert: true })
    const { matchedCount } = await jobs.updateOne({ _id, [`asked.${ASKED_MAX - 1}`]: { $exists: false } }, {
      $push: /** @type {any} */ ({ asked: now }),
      $set: { due_at: now, claim: null, failures: 0, expires_at: expiresAt },
      $unset: { problem: '' }
    })
    return matchedCount > 0
  }

  return {
    /**
     * Nothing says whether a person was found: the request shows nothing about other people.
     * @param {string} given  a name or a mail address
     */
    async ask (given) {
      const found = await members.find(
        { $or: [{ _id: userKey(given) }, { 'mail.key': mailKey(given.trim()) }] }, { limit: SHARING_MAX }
      ).toArray()
      for (const member of /** @type {Member[]} */ (found)) {
        if (mayGetLink(member) && !isInFile(member.name) && await addLink(member._id)) added()
      }
    },

    /**
     * The password was changed. Call `added` after the transaction.
     * @param {Member} member @param {ClientSession} session
     */
    async changed ({ _id: user, mail }, session) {
      if (mail === undefined) return
      const now = new Date()
      await jobs.updateOne({ _id: `changed ${user}` }, {
        $set: {
          kind: 'changed',
          user,
          due_at: now,
          claim: null,
          failures: 0,
          expires_at: new Date(now.getTime() + CHANGED_KEPT_MS)
        }
      }, { upsert: true, session })
    },

    added
  }
}

/** @typedef {ReturnType<typeof createRequests>} Requests */
