import { acceptedLine } from '../archive/accepted-line.js'
import { isForClient } from '../archive/client-error.js'
import { shown } from '../files/receive.js'
import { readableAlt } from '../pages/visible.js'
import { ALT_SCHEMA } from '../writing/change.js'
import { acceptedAuthor } from './accepted.js'

/** @import {FileStore} from '../files/store.js' */
/** @import {MovedPicture} from './content.js' */
/** @import {Outcome} from './report.js' */

/** @param {{files: FileStore, dryRun: boolean}} parts */
export const createStorePicture = ({ files, dryRun }) =>
  /**
   * @param {MovedPicture} picture
   * @returns {Promise<Outcome>}
   * @throws {Error} of the database, or of the place of pictures
   */
  async function storePicture ({ source, read, alt = '', author = '', name, stored }) {
    try {
      const bytes = await read()
      const there = await files.findWhole(bytes, name)
      if (there !== null) {
        const { url } = shown(there, name)
        stored(url)
        return { source, name: url, result: 'unchanged' }
      }
      if (dryRun) return { source, result: 'picture' }
      const line = acceptedLine(alt, ALT_SCHEMA, readableAlt)
      const { file, created } = await files.saveWhole(bytes, { author: acceptedAuthor(author), alt: line, name })
      const { url } = shown(file, name)
      stored(url)
      return { source, name: url, result: created ? 'picture' : 'unchanged' }
    } catch (error) {
      if (!isForClient(error) && !isOfFile(error)) throw error
      return { source, result: 'untaken', problem: /** @type {Error} */ (error).message }
    }
  }

/** @param {unknown} error  its file cannot be read */
const isOfFile = (error) => /** @type {NodeJS.ErrnoException} */ (error).syscall !== undefined &&
  ['ENOENT', 'EACCES', 'EISDIR', 'EIO'].includes(String(/** @type {NodeJS.ErrnoException} */ (error).code))
