import createError from '@fastify/error'
import { englishSize } from '../readable.js'
import { TooCostly } from '../threads/pool.js'
import { FRONT_MATTER_MAX_BYTES, splitFrontMatter } from './front-matter.js'

/** @import {Pool} from '../threads/pool.js' */

const InvalidFrontMatter = createError(
  'WIKI_INVALID_FRONT_MATTER', 'The front matter, the part between two lines “---”, cannot be read: %s.', 400
)

/** In a worker thread: 32 KiB of YAML would block page views for too long. @param {Pick<Pool, 'run'>} authors */
export function createFrontMatterReader (authors) {
  return {
    /**
     * @param {string} text  of a file
     * @returns {Promise<Partial<import('./front-matter.js').Known> & {content: string}>}
     * @throws {Error} 400 when it cannot be read, 503 when the machine is too busy
     */
    async read (text) {
      const parts = splitFrontMatter(text)
      if (parts === null) return { content: text }
      const { yaml, content } = parts
      if (Buffer.byteLength(yaml) > FRONT_MATTER_MAX_BYTES) {
        throw new InvalidFrontMatter(`it is longer than ${englishSize(FRONT_MATTER_MAX_BYTES)}`)
      }
      const { known, refusal } = await authors.run({ yaml }, { yields: true }).catch((error) => {
        throw error instanceof TooCostly ? new InvalidFrontMatter('it takes too long') : error
      })
      if (refusal !== undefined) throw new InvalidFrontMatter(refusal)
      return known === null ? { content: text } : { ...known, content }
    }
  }
}

/** @typedef {ReturnType<typeof createFrontMatterReader>} FrontMatterReader */
