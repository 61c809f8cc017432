import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import mongoose from 'mongoose'
import { freePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'
import { createDatabase } from '../src/database/database.js'

test('a standalone MongoDB server is not usable, and the log names --replSet', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-lone-'))
  mkdirSync(path.join(directory, 'data'))
  const [port] = await freePorts(1)
  const mongod = await startProcess({
    name: 'mongod',
    command: requireTool('mongod').path,
    args: [
      '--dbpath', path.join(directory, 'data'), '--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket'
    ],
    logFile: path.join(directory, 'log')
  })
  t.after(async () => {
    await stopProcess(mongod)
    rmSync(directory, { recursive: true })
  })
  const uri = `mongodb://127.0.0.1:${port}/wiki`
  const probe = mongoose.createConnection()
  const opens = () => probe.openUri(uri, { serverSelectionTimeoutMS: 2_000 }).then(() => true, () => false)
  assert.ok(await waitUntil(opens, 60_000))
  await probe.close()

  /** @type {string[]} */
  const logged = []
  const log = /** @type {any} */ ({ warn: (/** @type {string} */ message) => logged.push(message) })
  const database = createDatabase(uri, log)
  t.after(() => database.close())
  await database.connect()
  assert.match(logged.join('\n'), /database not usable.*it is a lone server.*--replSet/)
  await assert.rejects(database.ping())
})
