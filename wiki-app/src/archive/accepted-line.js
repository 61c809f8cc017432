/**
 * @param {unknown} given @param {{maxLength: number, pattern: string}} schema
 * @param {(text: string) => string | undefined} check  throws to refuse
 * @returns {string} '' when the wiki does not take it
 */
export function acceptedLine (given, { maxLength, pattern }, check) {
  if (typeof given !== 'string' || [...given].length > maxLength || !new RegExp(pattern, 'u').test(given)) return ''
  try {
    return check(given) ?? ''
  } catch {
    return ''
  }
}
