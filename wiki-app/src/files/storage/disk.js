import { constants } from 'node:fs'
import { access, chmod, mkdir, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import mongoose from 'mongoose'
import { ConfigError } from '../../config-error.js'
import { BytesMissing, fileNameOf, partsOf, storageAway } from './storage.js'

/** @import {Types} from 'mongoose' */
/** @import {Key, Storage} from './storage.js' */

/** Uploads that have not ended. A folder of its own, so that nginx can never send half a picture. */
const ARRIVING = 'arriving'
const OWNER = '.stevec-pictures'
/** A folder for each first two digits of the content's hash: 256 of them. */
const PREFIX_CHARS = 2
/** Where nginx keeps the folder: nginx/conf/pictures.conf. */
const INTERNAL_URL = '/.pictures'
/** nginx may be another user. The wiki shows its pictures to everybody; PICTURE_FOLDER's own mode can be stricter. */
const [FILE_MODE, FOLDER_MODE] = [0o644, 0o755]
/** Only the wiki sends what not everybody may read. */
const PRIVATE_MODE = 0o600
const READ_ONLY_NO_LINKS = constants.O_RDONLY | constants.O_NOFOLLOW

/**
 * Files in a folder, which several wikis of one database share.
 * @param {{folder: string, byNginx: boolean, isApart: boolean}} options  `byNginx`: nginx sends the files, but for
 *   those of private spaces (`isApart`)
 * @returns {Storage}
 */
export function createDiskStorage ({ folder, byNginx, isApart }) {
  const mode = isApart ? PRIVATE_MODE : FILE_MODE
  const relativeOf = (/** @type {Key} */ key) => {
    const file = fileNameOf(key, isApart)
    return `${key.name.slice(0, PREFIX_CHARS)}/${file}`
  }
  const arrivingOf = (/** @type {Types.ObjectId} */ id) => path.join(folder, ARRIVING, id.toHexString())

  return {
    name: 'disk',
    isApart,

    async put (id, bytes, nameAtEnd) {
      const draft = arrivingOf(id)
      try {
        await writeDurably(draft, bytes, mode)
        const file = path.join(folder, relativeOf({ id, name: nameAtEnd() }))
        await rename(draft, file)
        await syncFolder(path.dirname(file))
      } catch (error) {
        await rm(draft, { force: true }).catch(() => {})
        throw away(error)
      }
    },

    async read (key, length) {
      const handle = await open(path.join(folder, relativeOf(key)), READ_ONLY_NO_LINKS).catch((error) => {
        throw ['ENOENT', 'ELOOP'].includes(error.code) ? new BytesMissing('the folder') : away(error)
      })
      const { size } = await handle.stat()
      if (size === length) return handle.createReadStream()
      await handle.close()
      throw new BytesMissing(`the folder: ${size} of ${length} bytes`)
    },

    async remove ({ id, name }) {
      const file = name === null ? arrivingOf(id) : path.join(folder, relativeOf({ id, name }))
      await rm(file, { force: true }).catch((error) => { throw away(error) })
    },

    async * list () {
      for await (const { name: prefix } of entriesIn(folder)) {
        if (prefix !== ARRIVING && !/^[0-9a-f]{2}$/.test(prefix)) continue
        for await (const { name: file } of entriesIn(path.join(folder, prefix))) {
          const parts = prefix === ARRIVING ? arrivingPartsOf(file) : partsOf(file, isApart)
          if (parts !== null) yield { name: parts.name, id: new mongoose.Types.ObjectId(parts.id) }
        }
      }
    },

    internalUrl: (key) => byNginx && !isApart ? `${INTERNAL_URL}/${relativeOf(key)}` : null,

    ...placeOf(folder),
    close () {}
  }
}

/** @param {string} folder @returns {Pick<Storage, 'check' | 'readOwner' | 'writeOwner'>} */
function placeOf (folder) {
  return {
    async check (mayWrite) {
      const refuse = (/** @type {string} */ reason) => {
        throw new ConfigError(`PICTURE_FOLDER=${JSON.stringify(folder)} ${reason}`)
      }
      const found = await stat(folder).catch((error) =>
        refuse(`cannot be used (${error.code}); make that folder, for the user that the wiki runs as`))
      if (!found?.isDirectory()) refuse('is no folder')
      const needed = constants.R_OK | constants.X_OK | (mayWrite ? constants.W_OK : 0)
      await access(folder, needed).catch(() => refuse(`may not be ${mayWrite ? 'written' : 'read'} by the user that ` +
        'the wiki runs as'))
      if (mayWrite) await makeFolders(folder)
    },

    readOwner: () => readFile(path.join(folder, OWNER), 'utf8').then((text) => text.trim(), (error) => {
      if (error.code === 'ENOENT') return null
      throw away(error)
    }),

    async writeOwner (owner) {
      const draft = path.join(folder, ARRIVING, new mongoose.Types.ObjectId().toHexString())
      await writeDurably(draft, [Buffer.from(`${owner}\n`)], FILE_MODE)
      await rename(draft, path.join(folder, OWNER))
      await syncFolder(folder)
    }
  }
}

/** All at the start, so that an upload syncs one folder. @param {string} folder */
async function makeFolders (folder) {
  const prefixes = Array.from({ length: 256 }, (_, number) => number.toString(16).padStart(PREFIX_CHARS, '0'))
  await mkdir(path.join(folder, ARRIVING), { recursive: true })
  for (const name of prefixes) {
    const made = await mkdir(path.join(folder, name), { recursive: true })
    if (made !== undefined) await chmod(made, FOLDER_MODE)
  }
  await syncFolder(folder)
}

/** @param {string} file  must not exist @param {AsyncIterable<Buffer> | Buffer[]} bytes @param {number} mode */
async function writeDurably (file, bytes, mode) {
  const handle = await open(file, 'wx', mode)
  try {
    for await (const piece of bytes) await handle.writeFile(piece)
    await handle.chmod(mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Names of files are durable only then (fsync(2)). @param {string} folder */
async function syncFolder (folder) {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** @param {string} folder */
async function * entriesIn (folder) {
  const directory = await opendir(folder).catch((error) => {
    if (error.code === 'ENOENT') return []
    throw away(error)
  })
  yield * directory
}

/** @param {string} file */
const arrivingPartsOf = (file) => /^[0-9a-f]{24}$/.test(file) ? { name: null, id: file } : null

/** Errors of the file system become 503, such as a full disk. @param {any} error @returns {any} */
const away = (error) => error?.syscall === undefined ? error : storageAway(error)
