import assert from 'node:assert/strict'
import test from 'node:test'
import { SMTPServer } from 'smtp-server'
import { failureOf, MailFailure } from '../src/mail/failures.js'
import { createMailer } from '../src/mail/mailer.js'
import { createPace } from '../src/mail/pace.js'
import { refusal, SMTP_PASSWORD, startMailbox } from './mailbox.js'

/** @typedef {import('node:test').TestContext} TestContext */

const MAIL = { to: 'reader@mail.example', subject: 'a subject', text: 'a text' }

/** @param {string} url */
function mailerFor (url) {
  /** @type {string[]} */
  const lines = []
  const log = { warn: (/** @type {any} */ fields, text = '') => { lines.push(JSON.stringify(fields) + text) } }
  const mailer = createMailer({ url, from: 'wiki@wiki.example', name: 'wiki.example' }, /** @type {any} */ (log))
  return { mailer, lines }
}

/** @param {Promise<void>} sending */
const failing = (sending) => sending.then(() => assert.fail('it was sent'), (error) => {
  assert.ok(error instanceof MailFailure)
  return error
})

test('a password is sent through TLS alone, except on this machine', async (t) => {
  let logins = 0
  const mailbox = await startMailbox(t, { onLogin: () => { logins++ } })
  const url = (/** @type {string} */ host) => `smtp://wiki:${SMTP_PASSWORD}@${host}:${mailbox.port}`
  await mailerFor(url('127.0.0.1')).mailer.send(MAIL)
  assert.deepEqual([logins, mailbox.mails.length], [1, 1])
  // Linux connects to this machine; the address says nothing of that.
  const { mailer } = mailerFor(url('0.0.0.0'))
  const { away, refused } = await failing(mailer.send(MAIL))
  assert.deepEqual([away, refused, logins], [true, false, 1])
})

test('a certificate that nobody known has signed is refused', async (t) => {
  const server = new SMTPServer({ secure: true, authOptional: true })
  server.on('error', () => {})
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  t.after(() => new Promise((resolve) => server.close(() => resolve(undefined))))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.server.address())
  const { mailer, lines } = mailerFor(`smtps://wiki:${SMTP_PASSWORD}@127.0.0.1:${port}`)
  assert.ok((await failing(mailer.send(MAIL))).away)
  assert.ok(mailer.state().failing)
  assert.doesNotMatch(lines.join('\n'), new RegExp(`${SMTP_PASSWORD}|mail\\.example`))
})

test('a refusal says nothing of the server; a wrong password does, and so do three mails that wait', async (t) => {
  let code = 550
  const mailbox = await startMailbox(t, { onRcpt: () => code === 250 ? null : refusal(code) })
  const { mailer } = mailerFor(mailbox.settings.SMTP_URL)
  const failure = await failing(mailer.send(MAIL))
  assert.deepEqual([failure.refused, failure.away, failure.message], [true, false, 'code 550 after RCPT TO'])
  assert.equal(mailer.state().failing, false)
  code = 451
  for (const expected of [false, false, true]) {
    assert.equal((await failing(mailer.send(MAIL))).refused, false)
    assert.equal(mailer.state().failing, expected)
  }
  code = 250
  await mailer.send(MAIL)
  assert.deepEqual([mailer.state().failing, mailer.counts()], [false, { sent: 1, refused: 1, failed: 3 }])

  const wrong = mailerFor(mailbox.settings.SMTP_URL.replace(SMTP_PASSWORD, 'wrong')).mailer
  const { away, refused } = await failing(wrong.send(MAIL))
  assert.deepEqual([away, refused, wrong.state().failing], [true, false, true])
})

test('what a server says is not repeated, and a refused sender is a matter of the settings', () => {
  const said = { message: 'x', response: '550 <reader@mail.example> is unknown' }
  for (const [error, expected] of /** @type {const} */ ([
    [{ ...said, code: 'EENVELOPE', responseCode: 550, command: 'RCPT TO' }, ['code 550 after RCPT TO', true, false]],
    [{ ...said, code: 'EMESSAGE', responseCode: 554, command: 'DATA' }, ['code 554 after DATA', true, false]],
    [
      { ...said, code: 'EENVELOPE', responseCode: 550, command: 'MAIL FROM' },
      ['code 550 after MAIL FROM', false, true]
    ],
    [{ ...said, code: 'EAUTH', responseCode: 535, command: 'AUTH PLAIN' }, ['code 535 after AUTH PLAIN', false, true]],
    [{ ...said, code: 'ETIMEDOUT', command: 'CONN' }, ['ETIMEDOUT after CONN', false, true]],
    [{ ...said, code: 'a@b.example', command: 'a@b.example' }, ['an unknown reason', false, true]]
  ])) {
    const { problem, refused, away } = failureOf(error)
    assert.deepEqual([problem, refused, away], expected)
  }
})

test('mails are spaced: the next one waits as long as its share of a minute', () => {
  const pace = createPace(1)
  assert.equal(pace.waitMs(), 0)
  pace.take()
  const first = pace.waitMs()
  pace.take()
  assert.ok(first > 0 && pace.waitMs() > first)
})
