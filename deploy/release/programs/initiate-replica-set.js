#!/usr/bin/env node
// After mongod's start (ExecStartPost): makes it the primary of a replica set of its own, unless it is one already.
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'

const HOST = '127.0.0.1:27027'
const ANSWER_MS = 1_000
const EVERY_MS = 200
/** systemd's name of the process of ExecStart. */
const MONGOD = Number(process.env.MAINPID)

/** The sandbox hides mongod's folder in /proc, and lets its signals through. */
function lives () {
  try {
    return process.kill(MONGOD, 0)
  } catch {
    return false
  }
}

/** Until mongod answers as primary, or has ended; TimeoutStartSec bounds the rest. */
async function becomePrimary () {
  while (lives()) {
    const client = new MongoClient(`mongodb://${HOST}/?directConnection=true`, { serverSelectionTimeoutMS: ANSWER_MS })
    try {
      const admin = client.db('admin')
      if ((await admin.command({ hello: 1 })).isWritablePrimary) return true
      await admin.command({ replSetInitiate: { _id: 'stevec', members: [{ _id: 0, host: HOST }] } })
    } catch (error) {
      const { name, codeName, message } = /** @type {any} */ (error)
      // Not there yet, or about to be elected.
      const expected = name === 'MongoServerSelectionError' || codeName === 'AlreadyInitialized'
      if (!expected) process.stderr.write(`${message}\n`)
    } finally {
      await client.close()
    }
    await sleep(EVERY_MS)
  }
  return false
}

if (!await becomePrimary()) {
  process.stderr.write('mongod ended before it was primary; see /var/log/stevec-mongod/mongod.log\n')
  process.exitCode = 1
}
