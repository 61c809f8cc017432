import createError from '@fastify/error'
import { englishSize } from '../readable.js'
import { PATH_MAX_CHARS, pathRefusal } from './paths.js'

/** @import {FileHandle} from 'node:fs/promises' */
/** @import {Archive} from './unzip.js' */

const Refused = createError('WIKI_MEMBER_REFUSED', '%s', 400)

/** @typedef {{path: string, start: number, bytes: number}} Member  where a file lies within another one */

/** @param {FileHandle} file  stays open @param {Member[]} members @returns {Archive} */
export const memberFiles = (file, members) => async function * files () {
  for (const { path, start, bytes } of members) {
    const refusal = pathRefusal(path)
    yield {
      path: path.slice(0, PATH_MAX_CHARS),
      ...(refusal && { error: new Refused(refusal) }),
      read (maxBytes) {
        if (bytes > maxBytes) return Promise.reject(new Refused(`It is larger than ${englishSize(maxBytes)}.`))
        return readPart(file, start, bytes)
      }
    }
  }
}

/** @param {FileHandle} file @param {number} start @param {number} bytes */
async function readPart (file, start, bytes) {
  const part = Buffer.alloc(bytes)
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await file.read(part, at, bytes - at, start + at)
    if (bytesRead === 0) throw new Error('the temporary file is too short')
    at += bytesRead
  }
  return part
}
