import { crc32 } from 'node:zlib'
import createError from '@fastify/error'
import { englishSize } from '../readable.js'
import { PATH_MAX_CHARS, pathRefusal } from './paths.js'

const NotAZip = createError('WIKI_NOT_A_ZIP', 'This is not a whole zip file: %s', 400)
const TooManyFiles = createError(
  'WIKI_ZIP_TOO_MANY_FILES',
  'The zip has %d files; at most %d are taken at once. Send it in several parts.',
  413
)
const Refused = createError('WIKI_ZIP_FILE_REFUSED', '%s', 400)

export const FILES_MAX = 100_000

/** Text seldom compresses below a tenth; a zip beyond this is a bomb. */
const RATIO_MAX = 200
const ALWAYS_BYTES = 67_108_864

const FILE_TYPE = 0o170000
const REGULAR_FILE = 0o100000
const SYMBOLIC_LINK = 0o120000

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * @typedef {object} ArchiveFile
 * @property {string} path  relative, without `..`; with an error, as far as it can be read, at most 4096 characters
 * @property {Error} [error]
 * @property {string} [comment]  of a zip's entry
 * @property {(maxBytes: number) => Promise<Buffer>} read  rejects with the reason when it cannot be read
 * @typedef {() => AsyncGenerator<ArchiveFile>} Archive  each call reads all files from the first
 */

/**
 * The zip may be hostile: nothing is written to its paths.
 * @param {import('node:fs/promises').FileHandle} file  stays open @param {number} bytes  its length
 * @returns {Promise<Archive>} throws while it is read when the zip breaks off
 * @throws {Error} 400 when it is no zip, 413 when it has too many files
 */
export async function unzip (file, bytes) {
  // Loaded with the first import: most processes never need it, and all would keep its memory.
  const { default: yauzl } = await import('yauzl')
  const open = () => yauzl
    .fromFdPromise(file.fd, { autoClose: false, decodeStrings: false, validateEntrySizes: false })
    .catch((error) => { throw new NotAZip(sentence(error)) })
  const { entryCount } = await open()
  if (entryCount > FILES_MAX) throw new TooManyFiles(entryCount, FILES_MAX)
  return async function * files () {
    yield * entriesOf(await open(), { bytes: Math.max(ALWAYS_BYTES, RATIO_MAX * bytes) })
  }
}

/**
 * @param {import('yauzl').ZipFile} zip @param {{bytes: number}} budget  for all files together
 * @returns {AsyncGenerator<ArchiveFile>}
 */
async function * entriesOf (zip, budget) {
  try {
    for await (const entry of zip.eachEntry()) {
      const { path, reason } = pathOf(/** @type {Buffer} */ (/** @type {unknown} */ (entry.fileName)))
      // The paths of the files contain their folders.
      if (path.endsWith('/') && reason === null) continue
      const refusal = reason ?? typeRefusal(entry)
      yield {
        path: path.slice(0, PATH_MAX_CHARS),
        ...(refusal && { error: new Refused(refusal) }),
        comment: String(entry.fileComment),
        read: (maxBytes) => read(zip, entry, maxBytes, budget)
      }
    }
  } catch (error) {
    throw new NotAZip(sentence(/** @type {Error} */ (error)))
  }
}

/** @param {Buffer} raw @returns {{path: string, reason: string | null}} */
function pathOf (raw) {
  try {
    const path = utf8.decode(raw)
    return { path, reason: pathRefusal(path) }
  } catch {
    return { path: raw.toString(), reason: 'Its name is not UTF-8.' }
  }
}

/** @param {import('yauzl').Entry} entry */
function typeRefusal (entry) {
  // Only Unix stores it here: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT 4.4.15
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE
  if (type === SYMBOLIC_LINK) return 'It is a symbolic link.'
  if (type !== 0 && type !== REGULAR_FILE) return 'It is not a plain file.'
  if (entry.isEncrypted()) return 'It is encrypted.'
  return null
}

/**
 * @param {import('yauzl').ZipFile} zip @param {import('yauzl').Entry} entry
 * @param {number} maxBytes @param {{bytes: number}} budget
 */
async function read (zip, entry, maxBytes, budget) {
  const tooLarge = `It is larger than ${englishSize(maxBytes)}.`
  if (entry.uncompressedSize > maxBytes) throw new Refused(tooLarge)
  if (budget.bytes <= 0) {
    throw new Refused('The zip unpacks to far more than a zip of texts does; this file and those behind it are left out. Send them in another one.')
  }
  const chunks = []
  let bytes = 0
  // Before the read, as several entries are read concurrently.
  let counted = entry.uncompressedSize
  budget.bytes -= counted
  try {
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      bytes += chunk.length
      budget.bytes -= Math.max(0, bytes - counted)
      counted = Math.max(counted, bytes)
      if (bytes > maxBytes) throw new Refused(tooLarge)
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof Refused
      ? error
      : new Refused(`It cannot be unpacked: ${sentence(/** @type {Error} */ (error))}`)
  }
  const content = Buffer.concat(chunks)
  if (bytes !== entry.uncompressedSize) throw new Refused('It is not as long as the zip says.')
  if (crc32(content) !== entry.crc32) throw new Refused('It is damaged: its checksum is wrong.')
  return content
}

/** @param {Error} error */
const sentence = ({ message }) => `${message.replace(/\.$/, '')}.`
