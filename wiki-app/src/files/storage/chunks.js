/** Of a picture, in one document of the database. */
export const CHUNK_BYTES = 1_048_576

/** @param {AsyncIterable<Buffer>} bytes @returns {AsyncGenerator<Buffer>} of CHUNK_BYTES, but for the last */
export async function * inChunks (bytes) {
  /** @type {Buffer[]} */
  let pieces = []
  let length = 0
  for await (let piece of bytes) {
    while (length + piece.length >= CHUNK_BYTES) {
      const rest = CHUNK_BYTES - length
      yield Buffer.concat([...pieces, piece.subarray(0, rest)])
      piece = piece.subarray(rest);
      [pieces, length] = [[], 0]
    }
    if (piece.length > 0) pieces.push(piece)
    length += piece.length
  }
  if (length > 0) yield Buffer.concat(pieces)
}
