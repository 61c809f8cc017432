import { createTransport } from 'nodemailer'
import { parseSmtpUrl } from './address.js'
import { failureOf } from './failures.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {SmtpAddress} from './address.js' */
/** @import {MailFailure} from './failures.js' */

/**
 * @typedef {object} Mail  texts that others wrote stand in `text` and `html` alone
 * @property {string} to  a mail address
 * @property {string} subject
 * @property {string} text
 * @property {string} [html]  escaped
 * @property {string} [messageId]  without brackets
 * @property {string} [unsubscribeUrl]
 */

/** Together shorter than a lease (digest/sending.js). */
const TIMEOUTS = { dnsTimeout: 5_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 }
/** A server that sends a byte now and then never runs into these. */
const MAIL_MAX_MS = 60_000
/** One “later” is how many servers meet any new sender (greylisting). */
const IN_A_ROW = 3
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i

/**
 * Hands mails to one SMTP server, a connection for each. No log, status or metric has an address, and so no reply of
 * the server, which may quote one.
 * @param {{url: string, from: string, name: string}} settings  as config.js has checked them; `name`: of the sender
 * @param {Pick<FastifyBaseLogger, 'warn'>} log
 */
export function createMailer ({ url, from, name }, log) {
  const transport = createTransport(
    { ...connectionOf(/** @type {SmtpAddress} */ (parseSmtpUrl(url))), ...TIMEOUTS },
    { disableFileAccess: true, disableUrlAccess: true, xMailer: false }
  )
  const counts = { sent: 0, refused: 0, failed: 0 }
  const state = { failing: false, since: new Date(), sentAt: /** @type {Date | null} */ (null) }

  /** @param {boolean} failing @param {string} [problem] */
  function become (failing, problem) {
    if (state.failing === failing) return
    Object.assign(state, { failing, since: new Date() })
    if (failing) log.warn({ problem }, 'the server for mail does not take mails, which are sent later')
    else log.warn('the server for mail takes mails again')
  }

  let failedInARow = 0

  /** @param {MailFailure} failure */
  function onFailure ({ refused, away, problem }) {
    if (refused) counts.refused++
    else {
      counts.failed++
      failedInARow++
      if (away || failedInARow >= IN_A_ROW) become(true, problem)
    }
  }

  return {
    /** @param {Mail} mail @returns {Promise<void>} the server has it @throws {MailFailure} */
    async send ({ to, subject, text, html, messageId, unsubscribeUrl }) {
      try {
        await inTime(transport.sendMail({
          from: { name, address: from },
          to: { name: '', address: to },
          envelope: { from, to },
          subject,
          text,
          html,
          messageId: messageId && `<${messageId}>`,
          headers: {
            'Auto-Submitted': 'auto-generated',
            ...unsubscribeUrl && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
          },
          ...unsubscribeUrl && { list: { unsubscribe: { url: unsubscribeUrl } } }
        }))
      } catch (error) {
        const failure = failureOf(error)
        onFailure(failure)
        throw failure
      }
      counts.sent++
      failedInARow = 0
      state.sentAt = new Date()
      become(false)
    },

    /** Of this process. */
    state: () => ({ ...state }),
    counts: () => ({ ...counts })
  }
}

/** @typedef {ReturnType<typeof createMailer>} Mailer */

/**
 * A password goes through TLS, or stays on this machine. Without one, TLS is used if the server offers it.
 * @param {SmtpAddress} address
 */
const connectionOf = ({ host, port, tls, login }) => ({
  host,
  port,
  secure: tls,
  ...login && { auth: login },
  ...!tls && (LOOPBACK.test(host) ? { ignoreTLS: true } : { requireTLS: login !== null })
})

/** @param {Promise<unknown>} sending */
async function inTime (sending) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('too slow'), { code: 'ETIMEDOUT' })), MAIL_MAX_MS)
  })
  try {
    await Promise.race([sending, late])
  } finally {
    clearTimeout(timer)
  }
}
