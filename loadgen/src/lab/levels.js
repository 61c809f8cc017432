/**
 * @param {unknown} level  of a factor
 * @returns {string} as `--only` takes it and progress shows it
 */
export const levelText = (level) =>
  typeof level === 'object' && level !== null && !Array.isArray(level) ? JSON.stringify(level) : String(level)

/**
 * @param {string} name
 * @param {import('./definition.js').Factor} factor
 * @returns {{level: any, gives: Partial<import('./definition.js').Settings>}[]} each level, and what it sets
 */
export function levelsOf (name, factor) {
  return Array.isArray(factor)
    ? factor.map((level) => ({ level, gives: { [name]: level } }))
    : Object.entries(factor).map(([level, gives]) => ({ level, gives }))
}

/**
 * Splits the value of `--only`. A level may have commas: a comma separates only before the next `factor=`.
 * @param {string} text
 * @returns {string[]}
 */
export const splitOnly = (text) =>
  text.split(text.includes('=') ? /,(?=\s*[a-z][a-z0-9_]*=)/ : ',').map((part) => part.trim()).filter(Boolean)

/** As analysis/stevec_report/expectations.py decides them. */
const TESTS = ['below', 'above', 'within']
const COUNTS = ['at_most', 'at_least']

/**
 * Checks that the report can decide every expectation: an error in one would show only after hours.
 * @param {Record<string, any>} experiment  as parsed
 * @returns {string | null} the first complaint
 */
export function expectationComplaint ({ factors, presets = {}, expectations = [] }) {
  /** A preset may replace a factor. @type {Record<string, Set<string>>} */
  const known = {}
  for (const each of [factors, ...Object.values(presets).map((preset) => preset.factors ?? {})]) {
    for (const [name, factor] of Object.entries(each)) {
      for (const { level } of levelsOf(name, factor)) (known[name] ??= new Set()).add(levelText(level))
    }
  }
  for (const expectation of expectations) {
    const { that, in: levels, than = {} } = expectation
    const complaint = relationComplaint(expectation)
    if (complaint !== null) return `the expectation "${that}": ${complaint}`
    for (const [name, wanted] of [...Object.entries(levels), ...Object.entries(than)]) {
      if (known[name] === undefined) {
        return `the expectation "${that}" names the factor "${name}"; the factors are: ${Object.keys(known).join(', ')}`
      }
      const unknown = [wanted].flat().find((level) => !known[name].has(levelText(level)))
      if (unknown !== undefined) {
        return `the expectation "${that}" names the level "${levelText(unknown)}" of ${name}, which has: ` +
          [...known[name]].join(', ')
      }
    }
  }
  return null
}

/**
 * @param {Record<string, any>} expectation
 * @returns {string | null}
 */
function relationComplaint ({ is, in: levels, than, plus = 0 }) {
  const allowed = than === undefined ? COUNTS : TESTS
  if (!allowed.includes(is)) {
    return `with ${than === undefined ? 'value' : 'than'}, "is" is ${allowed.join(', ')}, not "${is}"`
  }
  const wanted = [...Object.values(levels), ...Object.values(than ?? {})]
  if (wanted.length === 0 || wanted.some((level) => Array.isArray(level) && level.length === 0)) {
    return 'it names no level'
  }
  if (than === undefined) return null
  const isPair = Object.keys(levels).sort().join() === Object.keys(than).sort().join()
  if (!isPair || wanted.some(Array.isArray)) return '"in" and "than" name one level each of the same factors'
  return is === 'within' && !(plus > 0) ? '"within" needs "plus", above 0' : null
}
