import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'

/**
 * Things that wait on the disk, as JSON lines: there may be more of them than fit into memory. Read and written in
 * rounds: what is added while a round is read is in the next one.
 * @template T
 */
export class Spool {
  #folder = ''
  #round = 0
  /** @type {import('node:fs').WriteStream | null} */
  #writing = null
  count = 0

  #file () { return path.join(this.#folder, String(this.#round)) }

  /** @param {T} thing */
  async add (thing) {
    if (this.#folder === '') this.#folder = await mkdtemp(path.join(tmpdir(), 'stevec-import-'))
    if (this.#writing === null) {
      this.#writing = createWriteStream(this.#file())
      await once(this.#writing, 'open')
    }
    this.count++
    if (!this.#writing.write(`${JSON.stringify(thing)}\n`)) await once(this.#writing, 'drain')
  }

  /** @returns {AsyncGenerator<T>} what was added since the last round */
  async * round () {
    if (this.#writing === null) return
    this.#writing.end()
    await once(this.#writing, 'close')
    const file = this.#file()
    this.#writing = null
    this.#round++
    this.count = 0
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      yield JSON.parse(line)
    }
    await rm(file)
  }

  async close () {
    if (this.#writing !== null) {
      this.#writing.end()
      await once(this.#writing, 'close')
    }
    if (this.#folder !== '') await rm(this.#folder, { recursive: true, force: true })
  }
}
