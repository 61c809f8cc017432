import { setImmediate } from 'node:timers/promises'

const NONE = Buffer.alloc(0)
/** Far more than a long animation needs. Each read costs the main thread the same, also of a part of three bytes. */
const READS_MAX = 100_000
/** Between two turns of the event loop: reads of bytes that are there do not end a turn by themselves. */
const READS_PER_TURN = 500

/** What is wrong with a picture, as the middle of a sentence. */
export class Broken extends Error {}

/**
 * Bytes for a parser that asks for them, from a sender that brings them in pieces; only what is not read yet is kept.
 */
export class Bytes {
  /** @type {Buffer} */
  #rest = NONE
  #ended = false
  #reads = 0
  /** Wakes the parser. */
  #bring = () => {}
  /** Wakes the sender. */
  #starve = () => {}

  /** What the parser has not read. */
  get left () { return this.#rest.length }

  /**
   * @param {Buffer} piece
   * @returns {Promise<void>} the parser has read it, and wants more
   */
  feed (piece) {
    const starving = new Promise((resolve) => { this.#starve = () => resolve(undefined) })
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    this.#bring()
    return starving
  }

  end () {
    this.#ended = true
    this.#bring()
  }

  /**
   * @param {number} count  not large: so much is kept
   * @returns {Promise<Buffer>}
   * @throws {Broken} at the end, or after too many of them
   */
  async read (count) {
    if (++this.#reads % READS_PER_TURN === 0) await this.#otherWork()
    while (this.#rest.length < count) await this.#more()
    return this.#take(count)
  }

  /**
   * The same, and they can be read again.
   * @param {number} count
   */
  async peek (count) {
    while (this.#rest.length < count) await this.#more()
    return this.#rest.subarray(0, count)
  }

  /**
   * @param {number} max
   * @returns {Promise<Buffer>} 1 to `max` bytes
   * @throws {Broken} at the end
   */
  async some (max) {
    while (this.#rest.length === 0) await this.#more()
    return this.#take(Math.min(max, this.#rest.length))
  }

  /**
   * @param {number} count
   * @param {(piece: Buffer) => unknown} [onPiece]
   */
  async skip (count, onPiece) {
    for (let missing = count; missing > 0;) {
      const piece = await this.some(missing)
      missing -= piece.length
      await onPiece?.(piece)
    }
  }

  /**
   * Reads many tiny parts without a promise for each, which would cost more than they do.
   * @param {(held: Buffer) => {read: number, done: boolean}} look  at what is there; the rest comes again, with more
   */
  async pass (look) {
    for (;;) {
      const { read, done } = look(this.#rest)
      this.#take(read)
      if (done) return
      await this.#more()
    }
  }

  async #otherWork () {
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
    const brought = new Promise((resolve) => { this.#bring = () => resolve(undefined) })
    this.#starve()
    await brought
  }
}
