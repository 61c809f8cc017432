import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after } from 'node:test'
import yauzl from 'yauzl'
import yazl from 'yazl'
import { get, untilCounted } from './helper.js'

/** @typedef {import('fastify').FastifyInstance} App */

/**
 * Gives a test file a TMPDIR of its own: every upload left in it comes from its tests.
 * @returns {() => string[]} lists them; an import must leave none
 */
export function useTemporary () {
  const temporary = mkdtempSync(path.join(tmpdir(), 'stevec-archive-'))
  process.env.TMPDIR = temporary
  after(() => rmSync(temporary, { recursive: true }))
  // Those of mongod and of the index of words go with their process.
  return () => readdirSync(temporary).filter((name) => !/^stevec-(mongod|search)-/.test(name))
}

/**
 * @param {[path: string, content: string | Buffer, options?: object][]} files
 * @param {(zip: Buffer) => Buffer} [damage]
 * @returns {Promise<Buffer>}
 */
export async function zipOf (files, damage = (zip) => zip) {
  const zip = new yazl.ZipFile()
  for (const [path, content, options] of files) zip.addBuffer(Buffer.from(content), path, options)
  zip.end()
  return damage(Buffer.concat(await /** @type {import('node:stream').Readable} */ (zip.outputStream).toArray()))
}

/**
 * @param {Buffer} zip
 * @returns {Promise<Map<string, string>>} texts by path, in the order of the zip
 */
export async function filesIn (zip) {
  const files = new Map()
  const opened = await yauzl.fromBufferPromise(zip)
  for await (const entry of opened.eachEntry()) {
    files.set(entry.fileName, Buffer.concat(await (await opened.openReadStreamPromise(entry)).toArray()).toString())
  }
  return files
}

/** @param {App} app */
export const exported = async (app) => (await get(app, '/api/v1/export')).rawPayload

/**
 * @param {App} app
 * @param {Buffer} payload
 * @param {string} [query]
 */
export const send = (app, payload, query = '') => app.inject({
  method: 'POST',
  url: `/api/v1/import${query}`,
  headers: { 'content-type': 'application/zip' },
  payload
})

/**
 * @param {App} app
 * @param {Buffer} zip
 * @param {string} [query]
 * @returns {Promise<{lines: any[], totals: any}>}
 */
export async function imported (app, zip, query) {
  const answer = await send(app, zip, query)
  assert.equal(answer.statusCode, 200, answer.body)
  assert.equal(answer.headers['content-type'], 'application/x-ndjson')
  assert.equal(answer.headers['cache-control'], 'no-store')
  const lines = answer.body.trim().split('\n').map((line) => JSON.parse(line))
  // Pages that came at the same moment show the links between them right once these are counted.
  await untilCounted(app)
  return { lines: lines.slice(0, -1), totals: lines[lines.length - 1] }
}

/**
 * @param {App} app
 * @param {string} name
 */
export const page = async (app, name) => (await get(app, `/api/v1/pages/${encodeURIComponent(name)}`)).json()
