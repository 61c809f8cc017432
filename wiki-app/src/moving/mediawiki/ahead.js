/**
 * Things that are made ahead of their reader, in order, so many that they weigh no more than `max` together: one alone
 * may be heavier.
 * @template T
 */
export class Ahead {
  /** @type {{thing: T, weight: number}[]} */
  #waiting = []
  #weight = 0
  #max
  #isOver = false
  /** @type {unknown} */
  #error = null
  #wake = () => {}

  /** @param {number} max */
  constructor (max) { this.#max = max }

  /** Resolves when something has changed. */
  #change () { return new Promise((resolve) => { this.#wake = () => resolve(undefined) }) }

  /** @param {T} thing @param {number} weight @returns {Promise<boolean>} false: nobody reads any more */
  async add (thing, weight) {
    while (this.#weight > 0 && this.#weight + weight > this.#max && !this.#isOver) await this.#change()
    if (this.#isOver) return false
    this.#waiting.push({ thing, weight })
    this.#weight += weight
    this.#wake()
    return true
  }

  /** @param {unknown} [error]  for the reader, after what is there */
  end (error = null) {
    this.#isOver = true
    this.#error = error
    this.#wake()
  }

  /** @returns {Promise<T | undefined>} undefined: there is no more */
  async take () {
    while (this.#waiting.length === 0 && !this.#isOver) await this.#change()
    const first = this.#waiting.shift()
    if (first === undefined) {
      if (this.#error !== null) throw this.#error
      return undefined
    }
    this.#weight -= first.weight
    this.#wake()
    return first.thing
  }
}
