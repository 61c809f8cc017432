import { fits } from '../writing/change.js'

/**
 * @param {unknown} given @param {Parameters<typeof fits>[1]} schema
 * @param {(text: string) => string | undefined} check  throws to refuse
 * @returns {string} '' when the wiki does not take it
 */
export function acceptedLine (given, schema, check) {
  if (typeof given !== 'string' || !fits(given, schema)) return ''
  try {
    return check(given) ?? ''
  } catch {
    return ''
  }
}
