const LENGTH_MAX_DIGITS = 10
const LINE_END = 0x0A

/** @param {string} text @returns {Buffer} as convert.lua takes it: a line with the number of bytes, and these */
export function frameOf (text) {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from(`${bytes.length}\n`), bytes])
}

/**
 * @param {{maxBytes: number, onFrame: (text: string) => void, onTooLong: () => void}} options
 * @returns {(chunk: Buffer) => void}  takes what a process writes
 */
export function createFrameReader ({ maxBytes, onFrame, onTooLong }) {
  /** @type {Buffer[]} */
  let chunks = []
  let [bytes, wanted] = [0, 1]

  return function take (chunk) {
    chunks.push(chunk)
    bytes += chunk.length
    while (bytes >= wanted) {
      const all = Buffer.concat(chunks)
      chunks = [all]
      const end = all.subarray(0, LENGTH_MAX_DIGITS + 1).indexOf(LINE_END)
      const length = Number(all.toString('latin1', 0, end))
      if (end === -1 && bytes <= LENGTH_MAX_DIGITS) {
        wanted = bytes + 1
        return
      }
      if (end === -1 || !(length <= maxBytes)) {
        onTooLong()
        return
      }
      wanted = end + 1 + length
      if (bytes < wanted) return
      chunks = [all.subarray(wanted)]
      bytes -= wanted
      const text = all.toString('utf8', end + 1, wanted)
      wanted = 1
      onFrame(text)
    }
  }
}
