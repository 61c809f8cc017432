const [AND, EQUALS, PLUS, SPACE, PERCENT] = Buffer.from('&=+ %')
const FIELDS_MAX = 100

/**
 * https://url.spec.whatwg.org/#urlencoded-parsing. Decodes in place: parsers that build a value from many strings cost
 * 0.1 s of garbage collection for 1 MiB.
 * @param {Buffer} body  is overwritten
 * @returns {Record<string, string | string[]>} without a prototype; at most 100 fields; a repeated field is an array
 */
export function readForm (body) {
  /** @type {Record<string, string | string[]>} */
  const fields = Object.create(null)
  for (let at = 0, count = 0; at < body.length && count < FIELDS_MAX; count++) {
    const end = indexOf(body, AND, at, body.length)
    if (end > at) {
      const equals = indexOf(body, EQUALS, at, end)
      const name = decoded(body.subarray(at, equals))
      const value = decoded(body.subarray(Math.min(equals + 1, end), end))
      fields[name] = name in fields ? [fields[name], value].flat() : value
    }
    at = end + 1
  }
  return fields
}

/**
 * @param {Buffer} bytes @param {number} byte @param {number} from @param {number} to
 * @returns {number} `to` for not found
 */
function indexOf (bytes, byte, from, to) {
  const index = bytes.subarray(from, to).indexOf(byte)
  return index === -1 ? to : from + index
}

/** @param {Buffer} bytes */
function decoded (bytes) {
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    const high = byte === PERCENT && at + 2 < bytes.length ? digit(bytes[at + 1]) : -1
    const low = high === -1 ? -1 : digit(bytes[at + 2])
    if (low === -1) {
      bytes[length++] = byte === PLUS ? SPACE : byte
    } else {
      bytes[length++] = high * 16 + low
      at += 2
    }
  }
  return bytes.toString('utf8', 0, length)
}

/** @param {number} byte @returns {number} value of a hexadecimal digit, or -1 */
function digit (byte) {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}
