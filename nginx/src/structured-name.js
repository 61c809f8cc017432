const TOKEN = /^[A-Za-z*][\w!#$%&'*+\-.^`|~:/]*$/
const PRINTABLE = /^[ -~]*$/

/**
 * Returns the name of a cache as an item of structured fields (RFC 9651): a token where possible, else a string.
 * @param {string} name
 * @throws {Error} when it has other characters than printable ASCII
 */
export function structuredName (name) {
  if (!PRINTABLE.test(name)) throw new Error(`a cache's name has printable ASCII characters only: ${JSON.stringify(name)}`)
  return TOKEN.test(name) ? name : `"${name.replaceAll(/["\\]/g, '\\$&')}"`
}
