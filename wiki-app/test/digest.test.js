import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient, ObjectId } from 'mongodb'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { BROWSER, createLog, get, readMetrics, save, useWiki } from './helper.js'
import { linkIn, MAIL_WAIT_MS, quickly, refusal, SMTP_PASSWORD, startMailbox, subscribe } from './mailbox.js'
import { bearer, cookieOf, peopleOnly, post, USERS } from './people.js'
import { put, send } from './spaces.js'

const wiki = useWiki()

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('fastify').FastifyInstance} App */
/** @typedef {import('./mailbox.js').Mailbox} Mailbox */

/** @param {TestContext} t @param {string} uri */
async function connect (t, uri) {
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  return client.db()
}

/**
 * A wiki whose reader watches the page “a” and the author “admin”.
 * @param {TestContext} t @param {Mailbox} mailbox
 * @param {{settings?: Record<string, string>, parts?: Parameters<typeof wiki.build>[3]}} [options]
 */
async function start (t, mailbox, { settings = {}, parts = quickly() } = {}) {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { ...peopleOnly(t), ...mailbox.settings, MONGODB_URI: uri, ...settings }, {}, parts)
  await ask(app, 'PUT', '/pages/a')
  await ask(app, 'PUT', '/authors/admin')
  const db = await connect(t, uri)
  const cookie = await cookieOf(app, 'reader')
  const page = async () => (await get(app, '/edit/watching', { ...BROWSER, ...cookie })).body
  const state = async () => (await ask(app, 'GET', '/digest')).json()
  return { app, uri, db, cookie, page, state, digests: db.collection('digests') }
}

/** @param {App} app @param {'PUT' | 'DELETE' | 'GET'} method @param {string} path @param {object} [payload] */
const ask = (app, method, path, payload) =>
  app.inject({ method, url: `/api/v1/watching${path}`, headers: bearer('reader'), payload })

/** A new text is longer than those before. */
let edits = 0

/** @param {App} app @param {string} name @param {{content?: string, summary?: string, user?: string}} [change] */
async function edit (app, name, { content = 'a'.repeat(++edits), summary = '', user = 'editor' } = {}) {
  const { statusCode } = await app.inject({
    method: 'POST', url: `/wiki/${encodeURIComponent(name)}`, headers: bearer(user), payload: { content, summary }
  })
  assert.ok(statusCode === 200 || statusCode === 201, `${name}: ${statusCode}`)
}

/** Until all that is committed now was looked at. @param {import('mongodb').Collection} digests */
async function untilLookedAt (digests) {
  const now = new Date()
  const isSeen = async () => await digests.countDocuments({ sent_up_to: { $lte: now } }) === 0
  assert.ok(await waitUntil(isSeen, MAIL_WAIT_MS))
}

/** A digest begins with the second in which it is confirmed. */
const nextSecond = () => new Promise((resolve) => setTimeout(resolve, 1_000 - Date.now() % 1_000 + 20))

test('an address is confirmed by a button behind a link, and then gets what changed, and only that', async (t) => {
  const mailbox = await startMailbox(t)
  const { app, cookie, page, state, digests } = await start(t, mailbox)
  assert.match(await page(), /<h2 id="_digest">By mail<\/h2>[^]*<button>Send me what is new<\/button>/)
  await edit(app, 'a', { summary: 'before there was a digest' })
  await nextSecond()
  const asked = await post(app, '/edit/watching/digest', { address: 'reader@mail.example', every: 'hourly' }, cookie)
  assert.deepEqual([asked.statusCode, asked.headers.location], [303, '/edit/watching#_digest'])

  const [mail] = await mailbox.until(1)
  assert.deepEqual([mail.subject, mail.from?.value, [mail.to].flat()[0]?.text], [
    'wiki.example: confirm your mail address',
    [{ address: 'wiki@wiki.example', name: 'wiki.example' }],
    'reader@mail.example'
  ])
  const link = linkIn(mail)
  for (const shown of [await get(app, link, BROWSER), await get(app, link, BROWSER)]) {
    assert.deepEqual([shown.statusCode, shown.headers['cache-control']], [200, 'private, no-store'])
    assert.match(shown.body, /Once an hour, reader@mail\.example gets the changes of what “reader” watches/)
  }
  assert.ok(await waitUntil(async () => (await state()).waiting.sent, MAIL_WAIT_MS))
  assert.equal((await state()).state, 'off', 'a program that looks at links confirms nothing')
  assert.match(await page(), /A mail with a link was sent to <b>reader@mail\.example<\/b>/)
  assert.equal((await post(app, link, {})).statusCode, 200)
  for (const again of [await post(app, link, {}), await get(app, link)]) assert.equal(again.statusCode, 404)
  assert.deepEqual(await state(), {
    state: 'on', address: 'reader@mail.example', every: 'hourly', problem: null, waiting: null
  })

  await edit(app, 'a', { summary: 'a reason' })
  await edit(app, 'b', { user: 'admin' })
  await edit(app, 'other')
  const [, digest] = await mailbox.until(2)
  await untilLookedAt(digests)
  const all = mailbox.mails.slice(1)
  const texts = all.map(({ text }) => text).join('\n')
  assert.match(texts,
    /^a\n[\d-]+ [\d:]+ UTC, editor\na reason\. Now .*\nhttp:\/\/wiki\.example\/difference\/a\?from=1&to=2$/m)
  assert.match(texts, /^b\n.* UTC, admin\nA new page of .*\nhttp:\/\/wiki\.example\/revision\/b\/1$/m)
  assert.doesNotMatch(texts, /other|before there was/)
  assert.equal([...texts.matchAll(/^http:.*\/(?:difference|revision)\//mg)].length, 2, 'each once')
  assert.match(String(digest.subject), /^wiki\.example: \d changes? of what you watch$/)
  assert.match(String(digest.html),
    /<a href="http:\/\/wiki\.example\/difference\/a\?from=1&amp;to=2" dir="auto">a<\/a>/)

  const before = mailbox.mails.length
  await edit(app, 'other')
  await untilLookedAt(digests)
  await untilLookedAt(digests)
  assert.equal(mailbox.mails.length, before, 'nothing that is watched has changed')
})

test('a mail says how many private changes there are, and neither where nor what', async (t) => {
  const mailbox = await startMailbox(t)
  const { app, cookie, page } = await start(t, mailbox)
  const grant = (/** @type {string} */ role) => send(app, '/edit/spaces/grant', { name: 'Team', group: 'g', role })
  await send(app, '/edit/spaces', { name: 'Team' })
  await send(app, '/edit/groups', { name: 'g' })
  await send(app, '/edit/groups/add', { name: 'g', person: 'reader' })
  await grant('reader')
  assert.equal((await ask(app, 'PUT', '/pages/Team%2Fsecret')).statusCode, 204)
  assert.match(await page(), /Of private pages, a mail says only how many/)
  await subscribe(app, mailbox, cookie)
  await put(app, 'Team/secret', { content: 'x', summary: 'hush' }, 'admin')
  const [, mail] = await mailbox.until(2)
  assert.equal(mail.subject, 'wiki.example: 1 change of what you watch')
  assert.match(String(mail.text), /^1 change in private spaces: http:\/\/wiki\.example\/edit\/watching$/m)
  assert.match(String(mail.html), /<a href="http:\/\/wiki\.example\/edit\/watching">1 change in private spaces<\/a>/)
  assert.doesNotMatch([mail.text, mail.html, ...mail.headerLines.map(({ line }) => line)].join(), /Team|secret|hush/)

  await grant('none')
  await put(app, 'Team/secret', { content: 'y' }, 'admin')
  await edit(app, 'a')
  const [, , after] = await mailbox.until(3)
  assert.match(String(after.text), /^a$/m)
  assert.doesNotMatch(String(after.text), /private/, 'the role has ended')
})

test('what others wrote is text in a mail: no header, no line and no element more', async (t) => {
  const mailbox = await startMailbox(t)
  const { app, cookie, db, digests } = await start(t, mailbox)
  await subscribe(app, mailbox, cookie)
  const name = 'a "><script>alert(1)</script> & Bcc: x@evil.example'
  await edit(app, name, { summary: '</p><img src=x onerror=alert(1)> <b>', user: 'admin' })
  // As no version of the wiki writes them.
  const one = await db.collection('revisions').findOne({ page: name })
  const evil = '\r\nBcc: victim@evil.example\r\nSubject: forged\r\n\r\n<script>body</script>\u2028\u202Eline'
  for (const [index, field] of ['page', 'author', 'summary'].entries()) {
    await db.collection('watchers').updateOne({}, {
      $push: /** @type {any} */ ({ pages: { name: `a${evil}`, since: new Date(0) } })
    })
    const _id = new ObjectId()
    await db.collection('revisions').insertOne({ ...one, _id, revision: 10 + index, page: 'a', [field]: `a${evil}` })
  }
  await untilLookedAt(digests)
  const all = mailbox.mails.slice(1)
  assert.ok(all.length >= 1)
  for (const { headers, subject, to, text = '', html } of all) {
    assert.deepEqual([...headers.keys()].sort(), [
      'auto-submitted', 'content-type', 'date', 'from', 'list', 'message-id', 'mime-version', 'subject', 'to'
    ])
    assert.match(String(subject), /^wiki\.example: \d changes? of what you watch$/)
    assert.equal([to].flat()[0]?.text, 'reader@mail.example')
    assert.doesNotMatch(String(html), /<script|<img|<b>|[\u2028\u202E]/)
    assert.doesNotMatch(text, /^(?:Bcc|Subject)|^<script|[\u2028\u202E]/m)
  }
  const texts = all.map(({ text }) => text).join('\n')
  assert.equal([...texts.matchAll(/Bcc: victim@evil\.example Subject: forged/g)].length, 3)
  assert.ok(texts.includes(name) && texts.includes('</p><img src=x onerror=alert(1)> <b>.'))
})

test('a process that ends before its mark moves: the mail comes again with the same id', async (t) => {
  const mailbox = await startMailbox(t)
  const stuck = quickly({ leaseMs: 300, atOnce: 1 }, ({ mailer }) => ({
    mailer: {
      ...mailer,
      send: async (mail) => {
        await mailer.send(mail)
        if (mail.messageId) await new Promise(() => {})
      }
    }
  }))
  const { app, uri, cookie, digests } = await start(t, mailbox, { parts: stuck })
  await subscribe(app, mailbox, cookie)
  await edit(app, 'a')
  const [, first] = await mailbox.until(2)
  await app.close()

  const later = await wiki.build(t, { ...peopleOnly(t), ...mailbox.settings, MONGODB_URI: uri }, {}, quickly())
  const [, , second] = await mailbox.until(3)
  assert.equal(second.messageId, first.messageId)
  assert.match(String(first.messageId), /^<digest\.[0-9a-f]{32}@wiki\.example>$/)
  await edit(later, 'a')
  const [, , , third] = await mailbox.until(4)
  assert.notEqual(third.messageId, first.messageId)
  await untilLookedAt(digests)
  assert.equal(mailbox.mails.length, 4)
})

test('two wikis on one database send each change once', async (t) => {
  const mailbox = await startMailbox(t)
  const { app, uri, cookie, digests } = await start(t, mailbox)
  const other = await wiki.build(t, { ...peopleOnly(t), ...mailbox.settings, MONGODB_URI: uri }, {}, quickly())
  await subscribe(app, mailbox, cookie)
  for (let round = 1; round <= 10; round++) {
    for (const each of [app, other]) await edit(each, 'a', { summary: `round ${round}` })
  }
  await untilLookedAt(digests)
  const texts = mailbox.mails.slice(1).map(({ text }) => text).join('\n')
  const revisions = [...texts.matchAll(/\/(?:difference\/a\?from=\d+&to=|revision\/a\/)(\d+)$/mg)]
    .map(([, to]) => Number(to))
  assert.deepEqual(revisions.sort((a, b) => a - b), Array.from({ length: 20 }, (_, index) => index + 1))
})

/** @param {App} app */
const mailIn = async (app) => (await get(app, '/status.json')).json().services
  .find((/** @type {any} */ { name }) => name === 'mail')

test('a mail that a server takes later, or that finds none, is sent then; no edit waits for it', async (t) => {
  let laters = 2
  const mailbox = await startMailbox(t, { onRcpt: () => laters-- > 0 ? refusal(451) : null })
  const { lines, logTo } = createLog()
  const { app, cookie, page } = await start(t, mailbox, { parts: { ...quickly(), logTo } })
  await subscribe(app, mailbox, cookie)
  assert.ok(laters <= 0)

  await mailbox.close()
  await edit(app, 'a', { summary: 'while it is away' })
  const status = async () => (await mailIn(app)).status
  assert.ok(await waitUntil(async () => await status() === 'degraded', MAIL_WAIT_MS))
  assert.match((await get(app, '/status')).body,
    /Mail: works in part[^]*Mails wait: their server does not take them; the log says why/)
  const isSaid = async () => /could not be sent yet \(ESOCKET after CONN\)/.test(await page())
  assert.ok(await waitUntil(isSaid, MAIL_WAIT_MS))
  const again = await startMailbox(t, { port: mailbox.port })
  const [mail] = await again.until(1)
  assert.match(String(mail.text), /while it is away/)
  assert.ok(await waitUntil(async () => await status() === 'ok', MAIL_WAIT_MS))
  assert.ok(await waitUntil(async () => !/could not be sent/.test(await page()), MAIL_WAIT_MS))
  const said = lines.map(({ msg }) => msg)
  assert.equal(said.filter((msg) => /does not take mails/.test(msg)).length, 1, 'once, not for each mail')
  assert.ok(said.some((msg) => /takes mails again/.test(msg)))
})

test('a digest that fails otherwise is tried again and delays no other; two mails are sent at once', async (t) => {
  let [atOnce, most, failures] = [0, 0, 3]
  const mailbox = await startMailbox(t, {
    async onMail () {
      most = Math.max(most, ++atOnce)
      await new Promise((resolve) => setTimeout(resolve, 100))
      atOnce--
    }
  })
  const { lines, logTo } = createLog()
  const parts = quickly({}, ({ watching }) => ({
    watching: {
      newBetween: async (user, range) => {
        if (user === 'reader' && failures-- > 0) throw new Error('a change cannot be read')
        return watching.newBetween(user, range)
      }
    }
  }))
  const { app, cookie, page } = await start(t, mailbox, { parts: { ...parts, logTo } })
  await subscribe(app, mailbox, cookie)
  for (const user of ['editor', 'admin']) {
    const own = await cookieOf(app, user)
    await post(app, '/edit/watch/a', { watch: 'yes' }, own)
    await subscribe(app, mailbox, own, `${user}@mail.example`)
  }
  await edit(app, 'a', { user: 'admin' })
  const got = () => new Set(mailbox.mails.slice(3).map(({ to }) => [to].flat()[0]?.text))
  assert.ok(await waitUntil(() => got().size === 2, MAIL_WAIT_MS), 'its author gets none')
  assert.deepEqual([...got()].sort(), ['editor@mail.example', 'reader@mail.example'])
  assert.ok(failures <= 0 && most <= 2)
  assert.ok(lines.filter(({ msg }) => /has failed, and is tried again/.test(msg)).length >= 1)
  assert.doesNotMatch(await page(), /could not be sent/)
})

test('a mailbox that refuses mails ends the digest, and the page “Watching” says so', async (t) => {
  const gone = new Set(['nobody@mail.example'])
  const mailbox = await startMailbox(t, { onRcpt: (address) => gone.has(address) ? refusal(550) : null })
  const { app, cookie, page, state, digests } = await start(t, mailbox)
  await post(app, '/edit/watching/digest', { address: 'nobody@mail.example', every: 'daily' }, cookie)
  assert.ok(await waitUntil(async () => (await state()).waiting.problem === 'code 550 after RCPT TO', MAIL_WAIT_MS))
  assert.match(await page(), /link to <b>nobody@mail\.example<\/b> could not be sent \(code 550/)

  await subscribe(app, mailbox, cookie)
  gone.add('reader@mail.example')
  await edit(app, 'a')
  assert.ok(await waitUntil(async () => (await state()).state === 'ended', MAIL_WAIT_MS))
  assert.match(await page(),
    /The mails to <b>reader@mail\.example<\/b> have ended, .* refused them \(code 550 after RCPT TO\)/)
  const [digest] = await digests.find().toArray()
  assert.deepEqual([digest.refusals, digest.due_at], [3, undefined])
  assert.equal((await mailIn(app)).status, 'ok', 'one mailbox says nothing of the server')
  gone.clear()
  await subscribe(app, mailbox, cookie)
  assert.equal((await state()).state, 'on')
})

test('each mail has a link that ends the digest: a page with a button, and one click in a mail program', async (t) => {
  const mailbox = await startMailbox(t)
  const { app, cookie, state, page } = await start(t, mailbox)
  const one = 'List-Unsubscribe=One-Click'
  for (const [type, payload] of [
    ['', ''],
    ['application/x-www-form-urlencoded', one],
    [
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--'
    ]
  ]) {
    await subscribe(app, mailbox, cookie)
    const before = mailbox.mails.length
    await edit(app, 'a')
    const mail = (await mailbox.until(before + 1))[before]
    const link = linkIn(mail)
    const list = /** @type {any} */ (mail.headers.get('list'))
    assert.equal(list.unsubscribe.url, `http://wiki.example${link}`)
    assert.equal(list['unsubscribe-post'].name ?? list['unsubscribe-post'], one)
    assert.match((await get(app, link, BROWSER)).body,
      /reader@mail\.example then gets no mail[^]*<button class="primary">End</)
    assert.equal((await state()).state, 'on', 'a GET ends nothing')
    const headers = { ...type && { 'content-type': type } }
    const ended = await app.inject({ method: 'POST', url: link, headers, payload })
    assert.equal(ended.statusCode, 200, ended.body)
    assert.equal((await state()).state, 'off')
    assert.doesNotMatch(await page(), /reader@mail\.example/)
    assert.equal((await post(app, link, {})).statusCode, 404)
  }
})

test('a person has three mails with a link sent a day; changing the interval needs none', async (t) => {
  const mailbox = await startMailbox(t)
  const { app, cookie, state, db } = await start(t, mailbox)
  await subscribe(app, mailbox, cookie, 'own@mail.example')
  const { every } = (await ask(app, 'PUT', '/digest', { address: 'own@mail.example', every: 'daily' })).json()
  assert.equal(every, 'daily')
  for (const address of ['one@mail.example', 'two@mail.example']) {
    const { waiting } = (await ask(app, 'PUT', '/digest', { address, every: 'daily' })).json()
    assert.equal(waiting.address, address)
  }
  const refused = await ask(app, 'PUT', '/digest', { address: 'three@mail.example', every: 'daily' })
  assert.equal(refused.statusCode, 429)
  assert.match(refused.json().detail, /You had 3 mails with a link sent within a day.*Try again in 24 hours/)
  assert.ok(Number(refused.headers['retry-after']) > 80_000)
  const form = { address: 'three@mail.example', every: 'daily' }
  assert.equal((await post(app, '/edit/watching/digest', form, cookie)).statusCode, 429)
  assert.equal((await state()).address, 'own@mail.example', 'the one before it goes on')
  assert.equal((await ask(app, 'DELETE', '/digest')).statusCode, 204)
  assert.deepEqual(await state(), { state: 'off', address: null, every: null, problem: null, waiting: null })
  assert.equal((await ask(app, 'PUT', '/digest', { address: 'own@mail.example', every: 'daily' })).statusCode, 429)
  await db.collection('digest_confirmations').updateOne({}, { $set: { asked: [new Date(Date.now() - 86_400_001)] } })
  assert.equal((await ask(app, 'PUT', '/digest', { address: 'own@mail.example', every: 'daily' })).statusCode, 200)
  for (const address of ['', 'a', 'a@b.example\r\nBcc: c@d.example', 'a@b.example, c@d.example']) {
    const { statusCode } = await post(app, '/edit/watching/digest', { address, every: 'daily' }, cookie)
    assert.equal(statusCode, 400, address)
  }
})

test('a link is of no use when it is a day old, a newer one was sent, or its user is gone', async (t) => {
  const mailbox = await startMailbox(t)
  const { app, uri, cookie, db } = await start(t, mailbox)
  const links = []
  for (const address of ['one@mail.example', 'two@mail.example', 'three@mail.example']) {
    await post(app, '/edit/watching/digest', { address, every: 'daily' }, cookie)
    links.push(linkIn((await mailbox.until(links.length + 1))[links.length]))
  }
  for (const link of links.slice(0, 2)) assert.equal((await post(app, link, {})).statusCode, 404)
  const others = peopleOnly(t, { users: USERS.filter(({ name }) => name !== 'reader') })
  const later = await wiki.build(t, { ...others, ...mailbox.settings, MONGODB_URI: uri }, {}, quickly())
  assert.equal((await get(later, links[2])).statusCode, 404)
  await db.collection('digest_confirmations').updateOne({}, { $set: { expires_at: new Date() } })
  assert.equal((await post(app, links[2], {})).statusCode, 404)
  assert.equal((await get(app, `/digests/stop/${'x'.repeat(43)}`)).statusCode, 404)
})

test('a mail shows 50 changes and leads to the others; one that was read on the wiki is in none', async (t) => {
  const mailbox = await startMailbox(t)
  const { app, cookie, db, digests, page } = await start(t, mailbox)
  await edit(app, 'a')
  const [, mark] = /name="mark" value="([^"]*)"/.exec(await page()) ?? []
  await subscribe(app, mailbox, cookie)
  await post(app, '/edit/watching/read', { mark }, cookie)
  const one = await db.collection('revisions').findOne({ page: 'a' })
  await db.collection('watchers').updateOne({}, { $set: { 'pages.0.since': new Date(0), read_before: new Date(0) } })
  const second = Math.floor(Date.now() / 1_000) - 600
  await db.collection('revisions').insertMany(Array.from({ length: 120 }, (_, index) => ({
    ...one, _id: new ObjectId((second + index).toString(16) + '0'.repeat(16)), revision: 100 + index, follows: null
  })))
  // Without its claim, work that began before this cannot move the mark forward again.
  await digests.updateOne({}, { $set: { sent_up_to: new Date(1_000 * (second - 1)), claim: null, due_at: new Date() } })
  const [, mail] = await mailbox.until(2)
  assert.equal(mail.subject, 'wiki.example: more than 50 changes of what you watch')
  const shown = [...String(mail.text).matchAll(/\/revision\/a\/(\d+)$/mg)].map(([, revision]) => Number(revision))
  assert.deepEqual(shown, Array.from({ length: 50 }, (_, index) => 219 - index), 'the newest')
  assert.match(String(mail.text), /^And more: http:\/\/wiki\.example\/edit\/watching$/m)
  await untilLookedAt(digests)
  assert.equal(mailbox.mails.length, 2)
})

test('no secret and no address is in a log, the database has hashes, and metrics count mails', async (t) => {
  const mailbox = await startMailbox(t, { onRcpt: (address) => address.startsWith('no') ? refusal(550) : null })
  const { lines, logTo } = createLog()
  const [port] = await freePorts(1)
  const { app, cookie, db } = await start(t, mailbox, {
    settings: { LOG_LEVEL: 'trace', METRICS_PORT: String(port) }, parts: { ...quickly(), logTo }
  })
  await post(app, '/edit/watching/digest', { address: 'no@mail.example', every: 'daily' }, cookie)
  assert.ok(await waitUntil(async () => /refused"\} 1$/m.test((await readMetrics(port)).text), MAIL_WAIT_MS))
  await post(app, '/edit/watching/digest', { address: 'reader@mail.example', every: 'daily' }, cookie)
  const [asked] = await mailbox.until(1)
  const confirm = linkIn(asked)
  const stored = JSON.stringify(await db.collection('digest_confirmations').find().toArray())
  await get(app, confirm)
  await post(app, confirm, {})
  await edit(app, 'a')
  const [, digest] = await mailbox.until(2)
  const stop = linkIn(digest)
  await get(app, stop)
  const text = (await readMetrics(port)).text
  assert.match(text, /^wiki_mail_up 1$/m)
  assert.match(text, /^wiki_mails_total\{outcome="sent"\} 2$/m)
  const shown = text + (await get(app, '/status')).body + (await get(app, '/status.json')).body
  await app.close()
  const logged = JSON.stringify(lines)
  for (const secret of [confirm, stop].map((link) => link.split('/').at(-1) ?? '')) {
    assert.equal(secret.length, 43)
    assert.ok(!logged.includes(secret) && !shown.includes(secret))
  }
  assert.ok(!stored.includes(confirm.split('/').at(-1) ?? ''))
  for (const secret of [SMTP_PASSWORD, 'mail.example']) {
    assert.ok(!logged.includes(secret) && !shown.includes(secret), secret)
  }
  assert.match(logged, /"url":"\/digests\/-"/)
})

test('a wiki without a server for mail shows nothing of it', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const cookie = await cookieOf(app, 'reader')
  await save(app, 'a', 'text', bearer('editor'))
  assert.doesNotMatch((await get(app, '/edit/watching', { ...BROWSER, ...cookie })).body, /[Mm]ail/)
  for (const url of ['/api/v1/watching/digest', `/digests/stop/${'x'.repeat(43)}`]) {
    assert.equal((await get(app, url, bearer('reader'))).statusCode, 404)
  }
  assert.doesNotMatch((await get(app, '/api/v1/openapi.json')).body, /[Dd]igest/)
  assert.doesNotMatch((await get(app, '/status.json')).body, /mail/)
})
