const HASH_BYTES = 32
/** Place of the record before, of the path; the hashes of the commit and of the content. */
const RECORD_BYTES = 8 + 2 * HASH_BYTES
const START_RECORDS = 1_024
/** 720 MB of memory. */
const REVISIONS_MAX = 10_000_000
const NONE = 0xffffffff

/**
 * `content`: hash; null: the page was deleted.
 * @typedef {{commit: string, content: string | null, path: string}} Entry
 */

/** Of all pages together, in as little memory as possible: histories have millions. */
export class RevisionList {
  #bytes = Buffer.alloc(START_RECORDS * RECORD_BYTES)
  #count = 0
  #hashBytes = 20
  /** @type {string[]} */
  #paths = []
  /** @type {Map<string, number>} */
  #places = new Map()

  /**
   * @param {number | null} before  the page's revision before @param {Entry} entry
   * @returns {number} of this one
   * @throws {Error} when there are too many
   */
  add (before, { commit, content, path }) {
    if (this.#count === REVISIONS_MAX) {
      throw new Error(`the repository has more than ${REVISIONS_MAX} revisions of files`)
    }
    const at = this.#count * RECORD_BYTES
    if (at === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(at)])
    this.#hashBytes = commit.length / 2
    this.#bytes.writeUInt32LE(before ?? NONE, at)
    this.#bytes.writeUInt32LE(this.#placeOf(path), at + 4)
    this.#bytes.write(commit, at + 8, 'hex')
    this.#bytes.write(content ?? '', at + 8 + HASH_BYTES, 'hex')
    return this.#count++
  }

  /** @param {number | null} last  of a page @returns {Generator<Entry>} the oldest first */
  * upTo (last) {
    const records = []
    for (let at = last ?? NONE; at !== NONE; at = this.#bytes.readUInt32LE(at * RECORD_BYTES)) records.push(at)
    while (records.length > 0) {
      const start = Number(records.pop()) * RECORD_BYTES
      const [commit, content] = [8, 8 + HASH_BYTES].map((from) =>
        this.#bytes.toString('hex', start + from, start + from + this.#hashBytes))
      const path = this.#paths[this.#bytes.readUInt32LE(start + 4)]
      yield { commit, content: /^0+$/.test(content) ? null : content, path }
    }
  }

  /** @param {string} path */
  #placeOf (path) {
    const known = this.#places.get(path)
    if (known !== undefined) return known
    this.#places.set(path, this.#paths.length)
    return this.#paths.push(path) - 1
  }
}
