import { Readable } from 'node:stream'
import multipart from '@fastify/multipart'
import createError from '@fastify/error'
import { t } from '../language.js'
import { AUTHOR_SCHEMA, CHANGE_PROPERTIES, changeIn, fits } from '../writing/change.js'
import { HTML, renderFor } from '../views.js'
import { memberFiles } from './member-files.js'
import { createReport } from './report.js'
import { unzip } from './unzip.js'
import { IMPORT_MAX_BYTES, Interrupted, openTemporary, refuseLonger } from './upload.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {Services} from '../services.js' */
/** @import {OnConflict} from './import.js' */
/** @import {Member} from './member-files.js' */
/** @import {Temporary} from './upload.js' */

const NoFile = createError(
  'WIKI_NO_IMPORT', 'No file was sent. Choose a zip file or a folder first. In a form the fields come before the ' +
    'files.', 400
)
const NotAForm = createError('WIKI_NOT_A_FORM', 'Send a form (multipart/form-data), or a zip to /api/v1/import.', 415)
const InvalidField = createError('WIKI_INVALID_FIELD', 'The field “%s” cannot have this value: %s.', 400)
const MixedFiles = createError('WIKI_MIXED_FILES', 'Send one zip file, or the files of a folder, but not both.', 400)
const TooManyFiles = createError(
  'WIKI_TOO_MANY_FILES', 'A folder may have at most %d files. Make a zip file of it, and send that.', 413
)

const IMPORT_URL = '/edit/import'
/** What the form has besides the files. */
const FORM_BYTES = 1_048_576
/** A zip may have more: the form's parser keeps some kilobytes for each. */
const MEMBERS_MAX = 5_000
const FIELD_MAX_BYTES = 1_000
const FIELDS_MAX = 3

/** The first is the form's default: an import leaves existing pages alone (docs/decisions/0036). */
const ON_CONFLICT = /** @type {const} */ (['keep', 'replace', 'fail'])

/** @typedef {{author?: string, summary?: string, on_conflict?: string}} Fields */

/** @type {FastifyPluginAsync<Pick<Services, 'importFiles' | 'importSlots'>>} */
export async function importRoutes (app, { importFiles, importSlots }) {
  const takeImport = /** @type {import('../access/write-limit.js').TakeImport} */ (app.getDecorator('takeImport'))
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async () => { throw new NotAForm() })
  await app.register(multipart, {
    limits: {
      files: MEMBERS_MAX,
      fileSize: IMPORT_MAX_BYTES + 1,
      fields: FIELDS_MAX,
      fieldSize: FIELD_MAX_BYTES,
      parts: MEMBERS_MAX + FIELDS_MAX
    },
    preservePath: true,
    throwFileSizeLimit: false
  })

  app.get(IMPORT_URL, { config: { database: false } }, async (request, reply) =>
    reply.type(HTML).send(renderFor(request, 'import', { title: t('Import'), url: IMPORT_URL })))

  app.post(IMPORT_URL, { config: { waitsItself: true } }, async (request, reply) => {
    reply.raw.once('close', importSlots.take())
    const temporary = await openTemporary(IMPORT_MAX_BYTES)
    const close = () => temporary.file.close()
    try {
      const { fields, members, zips } = await receive(request, temporary)
      const files = await archiveIn(temporary, members, zips)
      const lines = importFiles(files, {
        attribution: changeIn(request, fields),
        onConflict: /** @type {OnConflict} */ (fields.on_conflict ?? ON_CONFLICT[0]),
        take: () => takeImport(request)
      })
      const report = Readable.from(createReport(request, lines), { objectMode: false })
      // Also when the client leaves before the end.
      report.once('close', close)
      return reply.header('x-accel-buffering', 'no').type(HTML).send(report)
    } catch (error) {
      await close()
      throw error
    }
  })
}

/**
 * @param {FastifyRequest} request @param {Temporary} temporary  gets the files, one behind another
 * @returns {Promise<{fields: Fields, members: Member[], zips: number}>} `zips`: of the members, chosen as such
 * @throws {Error} 400, 413, 415
 */
async function receive (request, temporary) {
  if (!request.isMultipart()) throw new NotAForm()
  /** @type {Record<string, string>} */
  const fields = Object.create(null)
  /** @type {Member[]} */
  const members = []
  let zips = 0
  try {
    refuseLonger(request.raw, IMPORT_MAX_BYTES + FORM_BYTES)
    for await (const part of request.parts()) {
      if (part.type === 'field') {
        fields[part.fieldname] = String(part.value)
        continue
      }
      const start = temporary.size()
      await temporary.append(part.file)
      // Browsers send a field without a file as an empty one without a name.
      if (!part.filename) continue
      members.push({ path: part.filename, start, bytes: temporary.size() - start })
      if (part.fieldname === 'zip') zips++
    }
  } catch (error) {
    // A client that still sends would not read the response; the parser must not keep what it sends.
    request.raw.unpipe()
    request.raw.resume()
    throw asRefusal(/** @type {Error & {code?: string, statusCode?: number}} */ (error))
  }
  refuseInvalid(fields)
  if (members.length === 0) throw new NoFile()
  return { fields, members, zips }
}

/** @param {Error & {code?: string, statusCode?: number}} error */
function asRefusal (error) {
  if (error.code === 'FST_FILES_LIMIT' || error.code === 'FST_PARTS_LIMIT') return new TooManyFiles(MEMBERS_MAX)
  return error.statusCode === undefined || error.code === 'FST_MP_PREMATURE_CLOSE' ? new Interrupted() : error
}

/**
 * A folder may have zip files among others.
 * @param {Temporary} temporary @param {Member[]} members @param {number} zips  of the members, chosen as such
 */
function archiveIn ({ file, size }, members, zips) {
  if (members.length === 1 && members[0].path.toLowerCase().endsWith('.zip')) return unzip(file, size())
  if (zips > 0 && members.length > 1) throw new MixedFiles()
  return memberFiles(file, members)
}

/** @param {Fields} fields @throws {Error} 400 */
function refuseInvalid ({ author = '', summary = '', on_conflict: onConflict = ON_CONFLICT[0] }) {
  if (!(/** @type {readonly string[]} */ (ON_CONFLICT)).includes(onConflict)) {
    throw new InvalidField('on_conflict', `it is one of ${ON_CONFLICT.join(', ')}`)
  }
  for (const [name, value, schema] of /** @type {const} */ ([
    ['author', author, AUTHOR_SCHEMA], ['summary', summary, CHANGE_PROPERTIES.summary]
  ])) {
    if (!fits(value, schema)) {
      throw new InvalidField(name, `it has at most ${schema.maxLength} characters, on one line`)
    }
  }
}
