import { setImmediate } from 'node:timers/promises'

const NONE = Buffer.alloc(0)
/** More than a long animation needs. A read of three bytes costs as much as any. */
const READS_MAX = 100_000
/** Reads of buffered bytes do not yield to the event loop. */
const READS_PER_TURN = 500

/** The message is the middle of a sentence about a picture. */
export class Broken extends Error {}

/** Only unread bytes are buffered. */
export class Bytes {
  /** @type {Buffer} */
  #rest = NONE
  #ended = false
  #reads = 0
  #wakeParser = () => {}
  #wakeSender = () => {}

  get left () { return this.#rest.length }

  /** @param {Buffer} piece @returns {Promise<void>} when the parser has read it and wants more */
  feed (piece) {
    const wanted = new Promise((resolve) => { this.#wakeSender = () => resolve(undefined) })
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    this.#wakeParser()
    return wanted
  }

  end () {
    this.#ended = true
    this.#wakeParser()
  }

  /** @param {number} count  small: so many bytes are buffered @throws {Broken} at the end, or after too many reads */
  async read (count) {
    if (++this.#reads % READS_PER_TURN === 0) await this.#yieldToOthers()
    while (this.#rest.length < count) await this.#more()
    return this.#take(count)
  }

  /** @param {number} count */
  async peek (count) {
    while (this.#rest.length < count) await this.#more()
    return this.#rest.subarray(0, count)
  }

  /** @param {number} max @returns {Promise<Buffer>} 1 to `max` bytes @throws {Broken} at the end */
  async some (max) {
    while (this.#rest.length === 0) await this.#more()
    return this.#take(Math.min(max, this.#rest.length))
  }

  /** @param {number} count @param {(piece: Buffer) => unknown} [onPiece] */
  async skip (count, onPiece) {
    for (let missing = count; missing > 0;) {
      const piece = await this.some(missing)
      missing -= piece.length
      await onPiece?.(piece)
    }
  }

  /**
   * A promise for each tiny part would cost more than reading it.
   * @param {(unread: Buffer) => {read: number, done: boolean}} look  gets unread bytes again, with more
   */
  async pass (look) {
    for (;;) {
      const { read, done } = look(this.#rest)
      this.#take(read)
      if (done) return
      await this.#more()
    }
  }

  async #yieldToOthers () {
    if (this.#reads > READS_MAX) throw new Broken('it has too many parts')
    await setImmediate()
  }

  /** @param {number} count */
  #take (count) {
    const taken = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count)
    return taken
  }

  async #more () {
    if (this.#ended) throw new Broken('it ends too early')
    const arrived = new Promise((resolve) => { this.#wakeParser = () => resolve(undefined) })
    this.#wakeSender()
    await arrived
  }
}
