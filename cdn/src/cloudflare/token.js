import { readFileSync, statSync } from 'node:fs'

/** Mode bits of group and others. */
const OTHERS_MAY = 0o077
/** Both kinds fit: Cloudflare's tokens have 40 characters, those of the lab's emulated edge 32. */
const TOKEN_FORM = /^[\w.-]{8,512}$/

/** The token is missing or cannot be used. The message never holds it. */
export class TokenError extends Error {}

/**
 * Reads the API token from the environment, or else from a file that only its owner can read.
 * @param {object} sources
 * @param {string} [sources.token]  value of the environment variable
 * @param {string} [sources.file]  path of a file that holds only the token
 * @param {string} [sources.variable]  name of the token's environment variable
 * @param {string} [sources.fileVariable]  name of the path's variable
 * @returns {string}
 * @throws {TokenError} with one line that gives the next step
 */
export function readToken ({
  token,
  file,
  variable = 'CLOUDFLARE_API_TOKEN',
  fileVariable = 'CLOUDFLARE_API_TOKEN_FILE'
}) {
  if (token !== undefined && token !== '') {
    if (!TOKEN_FORM.test(token.trim())) {
      throw new TokenError(`${variable} does not hold an API token (letters, digits, - and _)`)
    }
    return token.trim()
  }
  if (file === undefined || file === '') {
    throw new TokenError(
      `no API token: set ${variable}, or ${fileVariable} to a file of mode 600 that holds it (README: Cloudflare)`
    )
  }
  let text
  try {
    const { mode } = statSync(file)
    if ((mode & OTHERS_MAY) !== 0) {
      throw new TokenError(`the token file ${file} may be read or changed by others than its owner; chmod 600 it, and if it was so for long, roll the token`)
    }
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw error instanceof TokenError
      ? error
      : new TokenError(`the token file ${file} cannot be read: ${/** @type {NodeJS.ErrnoException} */ (error).code}`)
  }
  if (!TOKEN_FORM.test(text)) throw new TokenError(`the token file ${file} must hold one API token and nothing else`)
  return text
}
