import { Readable } from 'node:stream'
import { IMPORT_MAX_BYTES, saveTemporarily } from '../archive/upload.js'
import { createSemaphore } from '../http/semaphore.js'
import { unzip } from '../archive/unzip.js'
import { zipOf } from '../archive/zip.js'
import { changeIn } from '../writing/change.js'
import { CHANGE_FIELDS, otherwise, queryOf, refusals, SECURITY } from './schemas.js'

/** @import {IncomingMessage} from 'node:http' */
/** @import {ZipItem} from '../archive/zip.js' */
/** @import {Services} from '../services.js' */

const EXPORTS_MAX = 4

const tags = ['archive']
const { author, summary } = CHANGE_FIELDS

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  export: {
    tags,
    summary: 'Take the whole wiki along',
    description: 'A zip with a Markdown file for each page, subpages in folders, and the pictures in `files/`. ' +
      'What is known about a page is at the beginning of its file, in YAML: ' +
      'name, tags, revision, modified_at, author, former_names.',
    response: { 200: { description: 'The zip', content: { 'application/zip': { schema: {} } } }, ...otherwise(429) }
  },
  import: {
    tags,
    security: SECURITY,
    summary: 'Make pages of files',
    description: 'A zip of Markdown files and pictures, as the export makes it, or a folder from elsewhere: ' +
      'then the pages are called as `name` or `title` in the files’ front matter, or as their paths, ' +
      'and links between the files lead to the pages and pictures that they become. ' +
      'The answer is one line of JSON for each picture, then for each other file, as it is done, ' +
      'and a last one with totals. ' +
      'In `missing` a line names files that the page links to and that are not there. ' +
      'What is there already makes no revision, so an import that broke off is finished by sending it again. ' +
      'Each page and picture that is written counts: of one client ten times WRITES_PER_MINUTE within ten minutes, ' +
      '600 by default; an administrator’s are not limited. ' +
      'Beyond that the last line has `done: false`, the number of files `left`, ' +
      'and in `retry_after_s` when to send the same zip again.',
    querystring: queryOf({
      author: { ...author, examples: ['Ana'] },
      summary: { ...summary, examples: ['from my notes'] },
      on_conflict: {
        type: 'string',
        enum: ['replace', 'keep', 'fail'],
        default: 'replace',
        description: 'Where a page has another text or other tags: replace it, keep it, or refuse the file.',
        examples: ['keep']
      }
    }),
    body: { content: { 'application/zip': { schema: {} } } },
    response: {
      200: {
        description: 'What became of each file: created, replaced, unchanged, kept or refused with a reason. ' +
          'In the last line `done` says whether that was all.',
        content: { 'application/x-ndjson': { schema: {} } }
      },
      ...refusals()
    }
  }
}

/**
 * @typedef {Pick<Services, 'importFiles' | 'importSlots'>} Imports
 * @type {import('fastify').FastifyPluginAsync<{archived: () => AsyncIterable<ZipItem>} & Imports>}
 */
export async function archiveApi (app, { archived, importFiles, importSlots }) {
  const takeImport = /** @type {import('../access/write-limit.js').TakeImport} */ (app.getDecorator('takeImport'))
  const exports = createSemaphore(EXPORTS_MAX)

  app.addContentTypeParser(
    'application/zip',
    async (
      /** @type {unknown} */ _request,
      /** @type {IncomingMessage} */ body
    ) => body
  )

  app.get('/export', { config: { costly: 'export' }, schema: SCHEMAS.export }, async (request, reply) => {
    reply.headers({ 'content-disposition': 'attachment; filename="wiki.zip"' }).type('application/zip')
    if (request.method === 'HEAD') return reply.send()
    reply.raw.once('close', exports.take())
    return zipOf(archived())
  })

  app.post('/import', { config: { waitsItself: true }, schema: SCHEMAS.import }, async (request, reply) => {
    reply.raw.once('close', importSlots.take())
    const { on_conflict: onConflict } =
      /** @type {{on_conflict: import('../archive/import.js').OnConflict}} */ (request.query)
    const { file, size } = await saveTemporarily(
      /** @type {IncomingMessage} */ (request.body),
      IMPORT_MAX_BYTES
    )
    try {
      const lines = importFiles(await unzip(file, size()), {
        attribution: changeIn(request, request.query), onConflict, take: () => takeImport(request)
      })
      const report = Readable.from(asNdjson(lines), { objectMode: false })
      // Also when the client leaves before the first line.
      report.once('close', () => file.close())
      // nginx passes each line on at once, so that proxies in front of it see that the import goes on.
      return reply.header('x-accel-buffering', 'no').type('application/x-ndjson').send(report)
    } catch (error) {
      await file.close()
      throw error
    }
  })
}

/** A space is allowed before a line’s JSON. @param {AsyncIterable<object | null>} lines */
async function * asNdjson (lines) {
  for await (const line of lines) yield line === null ? ' ' : `${JSON.stringify(line)}\n`
}
