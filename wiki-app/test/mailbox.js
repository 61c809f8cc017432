import { simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'
import { waitUntil } from '@stevec/harness/processes'
import { createDigests } from '../src/digest/digests.js'
import { post } from './people.js'

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('mailparser').ParsedMail} ParsedMail */
/** @typedef {import('../src/digest/timing.js').Timing} Timing */
/** @typedef {Parameters<typeof createDigests>[0]} Parts */

export const MAIL_WAIT_MS = 60_000
export const PUBLIC_URL = 'http://wiki.example'
export const SMTP_PASSWORD = 'smtp-hunter2'

/** `settleMs`: longer than a save takes here. @type {Partial<Timing>} */
const QUICK = {
  intervalMs: { daily: 50, hourly: 50 },
  settleMs: 1_500,
  checkMs: 20,
  retryMs: 10,
  retryMaxMs: 50,
  refusedMs: 10,
  refusedMaxMs: 20,
  refusalsMax: 3,
  awayMs: 10,
  awayMaxMs: 50,
  perMinute: 600_000
}

/**
 * For `wiki.build`.
 * @param {Partial<Timing>} [timing] @param {(parts: Parts) => Partial<Parts>} [others]
 */
export const quickly = (timing = {}, others = () => ({})) => ({
  makeDigests: (/** @type {Parts} */ parts) =>
    createDigests({ ...parts, ...others(parts), timing: { ...QUICK, ...timing } })
})

/** @param {number} code */
export const refusal = (code) => Object.assign(new Error('no mail for <reader@mail.example>'), { responseCode: code })

/**
 * A real SMTP server that keeps what it gets.
 * @param {TestContext} t
 * @param {{onRcpt?: (address: string) => Error | null, onMail?: (mail: ParsedMail) => Promise<Error | null | void>,
 *   onLogin?: () => void, port?: number}} [options]  `onMail`: before the mail is acknowledged
 */
export async function startMailbox (t, {
  onRcpt = () => null, onMail = async () => {}, onLogin = () => {}, port = 0
} = {}) {
  /** @type {ParsedMail[]} */
  const mails = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    onAuth ({ username, password }, _session, done) {
      onLogin()
      if (password === SMTP_PASSWORD) done(null, { user: username })
      else done(new Error('wrong password'))
    },
    onRcptTo: ({ address }, _session, done) => done(onRcpt(address)),
    onData (stream, _session, done) {
      simpleParser(stream).then(async (mail) => {
        const refused = await onMail(mail)
        if (!refused) mails.push(mail)
        done(refused ?? null)
      }).catch(done)
    }
  })
  server.on('error', () => {})
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)))
  const close = () => new Promise((resolve) => server.close(() => resolve(undefined)))
  t.after(close)
  const { port: taken } = /** @type {import('node:net').AddressInfo} */ (server.server.address())
  return {
    mails,
    port: taken,
    close,
    settings: {
      SMTP_URL: `smtp://wiki:${SMTP_PASSWORD}@127.0.0.1:${taken}`, MAIL_FROM: 'wiki@wiki.example', PUBLIC_URL
    },
    /** @param {number} count @returns {Promise<ParsedMail[]>} */
    async until (count) {
      if (!await waitUntil(() => mails.length >= count, MAIL_WAIT_MS)) {
        throw new Error(`${mails.length} mails came, not ${count}`)
      }
      return mails
    }
  }
}

/** @typedef {Awaited<ReturnType<typeof startMailbox>>} Mailbox */

/** @param {ParsedMail} mail @returns {string} the path of the link that confirms or ends */
export function linkIn ({ text = '' }) {
  const [, path = ''] = /http:\/\/wiki\.example(\/digests\/(?:confirm|stop)\/[\w-]{43})\s/.exec(text) ?? []
  return path
}

/**
 * Wants a digest, and presses the button behind the link in the mail.
 * @param {App} app @param {Mailbox} mailbox @param {Record<string, string>} cookie
 */
export async function subscribe (app, mailbox, cookie, address = 'reader@mail.example') {
  const before = mailbox.mails.length
  await post(app, '/edit/watching/digest', { address, every: 'hourly' }, cookie)
  const mails = await mailbox.until(before + 1)
  const { statusCode } = await post(app, linkIn(mails[before]), {})
  if (statusCode !== 200) throw new Error(`the address is not confirmed: ${statusCode}`)
}
