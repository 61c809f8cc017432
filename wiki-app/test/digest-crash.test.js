import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test from 'node:test'
import { MongoClient, ObjectId } from 'mongodb'
import { WIKI_ARGUMENTS } from '../src/start.js'
import { save, useWiki } from './helper.js'
import { quickly, startMailbox } from './mailbox.js'
import { bearer, peopleOnly } from './people.js'

const wiki = useWiki()
const MINUTE_MS = 60_000

/** @param {Date} time */
const idAt = (time) => new ObjectId(Math.floor(time.getTime() / 1_000).toString(16) + '0'.repeat(16))

test('a wiki is killed before it knows that a mail was taken: the next one sends it, with its id', async (t) => {
  const uri = wiki.freshUri()
  const people = peopleOnly(t)
  const app = await wiki.build(t, { ...people, MONGODB_URI: uri })
  await save(app, 'a', 'text', bearer('editor'))
  await app.inject({ method: 'PUT', url: '/api/v1/watching/pages/a', headers: bearer('reader') })
  await app.close()

  // Of ten minutes ago, so that no clock delays the mail.
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  const db = client.db()
  const began = new Date(Date.now() - 10 * MINUTE_MS)
  const one = await db.collection('revisions').findOne({ page: 'a' })
  await db.collection('revisions').insertOne({ ...one, _id: idAt(new Date(began.getTime() + MINUTE_MS)), revision: 7 })
  await db.collection('watchers').updateOne({}, { $set: { 'pages.0.since': began, read_before: began } })
  const digests = db.collection('digests')
  await digests.insertOne({
    _id: /** @type {any} */ ('reader'),
    address: 'reader@mail.example',
    every: 'hourly',
    stop: 'x'.repeat(43),
    sent_up_to: new Date(Math.floor(began.getTime() / 1_000) * 1_000),
    due_at: began,
    claim: null,
    failures: 0,
    refusals: 0
  })

  let kills = 0
  const mailbox = await startMailbox(t, {
    onMail: async () => {
      if (kills++ > 0) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  })
  const child = spawn(process.execPath, WIKI_ARGUMENTS, {
    env: { ...process.env, ...people, ...mailbox.settings, MONGODB_URI: uri, PORT: '0' }, stdio: 'ignore'
  })
  t.after(() => child.kill('SIGKILL'))
  await mailbox.until(1)
  const claimed = await digests.findOne({})
  assert.ok(claimed?.due_at > new Date() && claimed?.up_to > began, 'its lease and its range are there')

  // As when the lease has ended.
  await digests.updateOne({}, { $set: { due_at: new Date() } })
  await wiki.build(t, { ...people, ...mailbox.settings, MONGODB_URI: uri }, {}, quickly())
  const [first, second] = await mailbox.until(2)
  assert.equal(second.messageId, first.messageId)
  assert.match(String(second.text), /\/revision\/a\/7$/m)
})
