import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { PARAMETERS } from '../recipe.js'

/** The folder arm-image. */
export const HERE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
/** The top of the checkout. */
export const ROOT = path.resolve(HERE, '..')

/** An invalid parameter; the message names it and the allowed values. */
export class ParameterError extends Error {}

/**
 * Reads the image's parameters; nothing else reads them from the environment.
 * @param {Record<string, string | undefined>} [env]
 * @returns {Record<string, string>} every parameter of the recipe
 * @throws {ParameterError} naming each bad parameter and its allowed values
 */
export function readParameters (env = process.env) {
  const complaints = []
  /** @type {Record<string, string>} */
  const parameters = {}
  for (const [name, { default: fallback, allowed, says }] of Object.entries(PARAMETERS)) {
    const value = env[name] || fallback
    // The database's URI may hold a password.
    if (!allowed.test(value)) {
      complaints.push(`${name}=${name === 'MONGODB_URI' ? '(not shown)' : value} is not allowed: it must be ${says}`)
    }
    parameters[name] = value
  }
  if (complaints.length > 0) throw new ParameterError(complaints.join('\n'))
  return parameters
}

/**
 * @param {Record<string, string | undefined>} [env]
 * @returns {string} the folder for images and their caches: STEVEC_IMAGE or arm-image/build
 */
export function buildDirectory (env = process.env) {
  return path.resolve(env.STEVEC_IMAGE || path.join(HERE, 'build'))
}
