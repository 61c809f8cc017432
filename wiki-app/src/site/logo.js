import { readFileSync, statSync } from 'node:fs'
import { ConfigError } from '../config-error.js'

const MAX_BYTES = 102_400
const KINDS = [
  { type: 'image/png', extension: 'png', fits: /^\x89PNG\r\n/ },
  { type: 'image/webp', extension: 'webp', fits: /^RIFF[\s\S]{4}WEBP/ },
  // Behind a byte order mark, a declaration, comments and a document type.
  {
    type: 'image/svg+xml',
    extension: 'svg',
    fits: /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*|<!DOCTYPE[^>[]*>\s*)*<svg[\s>]/i
  }
]

/** An SVG file that is opened by itself must not run anything, nor ask for anything else. */
export const LOGO_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

/** @typedef {{type: string, extension: string, bytes: Buffer}} Logo */

/** @param {string} path @returns {Logo} @throws {ConfigError} */
export function readLogo (path) {
  const said = `WIKI_LOGO=${JSON.stringify(path)}`
  const bytes = read(path, said)
  const start = bytes.toString('latin1')
  const kind = KINDS.find(({ fits }) => fits.test(start))
  if (kind === undefined) throw new ConfigError(`${said} is not allowed: the file is no SVG, PNG or WebP picture`)
  return { type: kind.type, extension: kind.extension, bytes }
}

/** @param {string} path @param {string} said */
function read (path, said) {
  try {
    const status = statSync(path)
    if (!status.isFile()) throw new ConfigError(`${said} is not allowed: it is not a file`)
    if (status.size > MAX_BYTES) {
      const sizes = `the file has ${status.size} bytes, at most ${MAX_BYTES} are possible`
      throw new ConfigError(`${said} is not allowed: ${sizes}`)
    }
    return readFileSync(path)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${said} cannot be read (${/** @type {NodeJS.ErrnoException} */ (error).code})`)
  }
}
