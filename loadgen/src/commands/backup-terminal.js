import { DEFAULT_PORTS } from '../config.js'
import { countOf } from '../count-of.js'
import { UsageError } from '../usage-error.js'

const EVERY_MS = 500

/**
 * @param {string | undefined} given
 * @param {ReturnType<typeof import('../config.js').readConfig>} config
 * @returns {string}
 * @throws {UsageError} when it names no database; the driver would use the database `test`
 */
export function wikiUri (given, { mongodbUri, ports }) {
  const uri = given ??
    mongodbUri ??
    `mongodb://127.0.0.1:${ports.mongod ?? DEFAULT_PORTS.mongod}/stevec?replicaSet=stevec`
  if (!/^mongodb(\+srv)?:\/\/[^/]+\/[^/?]+/.test(uri)) {
    throw new UsageError('the URI must be mongodb://host[:port]/database, with the name of the wiki’s database')
  }
  return uri
}

/** Shows progress as one changing line on standard error, if that is a terminal. */
export function progressLine () {
  let shownAt = 0
  /** @param {string} text */
  function say (text) {
    if (!process.stderr.isTTY || performance.now() - shownAt < EVERY_MS) return
    shownAt = performance.now()
    const columns = process.stderr.columns || 80
    process.stderr.write(`\r\u001b[K${text.slice(0, columns - 1)}`)
  }
  return {
    say,
    /**
     * @param {string} what
     * @param {number} documents
     */
    show: (what, documents) => say(`${what}: ${countOf(documents, 'document')}`),
    end () { if (shownAt > 0) process.stderr.write('\r\u001b[K') }
  }
}

/** @param {Record<string, number>} counts  documents, by collection */
export const countsLine = (counts) => Object.entries(counts)
  .filter(([, count]) => count > 0)
  .map(([name, count]) => `${name} ${count}`)
  .join(', ')
