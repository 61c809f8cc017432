const NUL = 0

/**
 * What stands between NUL bytes: the last one ends a token, too.
 * @param {AsyncIterable<Buffer>} stream @param {number} maxBytes  of one; what is longer is cut off
 * @returns {AsyncGenerator<string>}
 */
export async function * tokensIn (stream, maxBytes) {
  /** @type {Buffer[]} */
  let pieces = []
  let bytes = 0
  /** @param {Buffer} piece */
  const add = (piece) => {
    const part = piece.subarray(0, maxBytes - bytes)
    if (part.length > 0) pieces.push(part)
    bytes += part.length
  }
  for await (const chunk of stream) {
    let from = 0
    for (let at = chunk.indexOf(NUL); at !== -1; at = chunk.indexOf(NUL, from)) {
      add(chunk.subarray(from, at))
      yield Buffer.concat(pieces).toString()
      pieces = []
      bytes = 0
      from = at + 1
    }
    add(chunk.subarray(from))
  }
}
