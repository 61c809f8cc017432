import { open, rm } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** @import {DumpRevision} from './dump.js' */

/** Longer histories wait on the disk. */
const IN_MEMORY_MAX_CHARS = 4_194_304

/**
 * The revisions of a page in the order of their history. A dump may have them in any order, and a page may have more of
 * them than fit into memory, so only their dates and places are kept there.
 */
export class PageRevisions {
  /** @type {{id: string, number: number, ms: number, revision: DumpRevision | null, at: number, bytes: number}[]} */
  #all = []
  #chars = 0
  /** @type {import('node:fs/promises').FileHandle | null} */
  #file = null
  #fileBytes = 0
  #lastMs = 0

  /** @param {DumpRevision} revision */
  async add (revision) {
    const ms = Date.parse(revision.timestamp)
    // Without a date, it is where the file has it.
    this.#lastMs = Number.isNaN(ms) ? this.#lastMs : ms
    this.#all.push({ id: revision.id, number: Number(revision.id), ms: this.#lastMs, revision, at: 0, bytes: 0 })
    this.#chars += revision.text.length + revision.comment.length
    if (this.#chars > IN_MEMORY_MAX_CHARS) await this.#toDisk()
  }

  async #toDisk () {
    if (this.#file === null) {
      const name = path.join(tmpdir(), `stevec-import-${randomUUID()}`)
      this.#file = await open(name, 'wx+', 0o600)
      // It is gone when this process is.
      await rm(name)
    }
    for (const each of this.#all) {
      if (each.revision === null) continue
      const bytes = Buffer.from(JSON.stringify(each.revision))
      await this.#file.write(bytes, 0, bytes.length, this.#fileBytes)
      Object.assign(each, { revision: null, at: this.#fileBytes, bytes: bytes.length })
      this.#fileBytes += bytes.length
    }
    this.#chars = 0
  }

  /** @param {string} id @returns {boolean} */
  has (id) { return this.#all.some((each) => each.id === id) }

  get count () { return this.#all.length }

  /** @returns {AsyncGenerator<{revision: DumpRevision, at: Date}>} the oldest first */
  async * inOrder () {
    this.#all.sort((a, b) => a.ms - b.ms || a.number - b.number)
    for (const { revision, at, bytes, ms } of this.#all) {
      yield { revision: revision ?? await this.#read(at, bytes), at: new Date(ms) }
    }
  }

  /** @param {number} at @param {number} bytes @returns {Promise<DumpRevision>} */
  async #read (at, bytes) {
    const file = /** @type {import('node:fs/promises').FileHandle} */ (this.#file)
    const { buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, at)
    return JSON.parse(buffer.toString())
  }

  async close () { await this.#file?.close() }
}
